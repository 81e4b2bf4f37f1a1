"""From an action, a named thing and a destination to a triple: what the glossary makes of them, whoever found them."""

from __future__ import annotations

import re

from kickwheel.intent.glossary import Glossary
from kickwheel.intent.phrases import TIME_MARK, Named, shown
from kickwheel.intent.ports import Recognised, Refused
from kickwheel.intent.statement_words import CONDITION, NO_NAME, TAKEN_BACK
from kickwheel.intent.time_reading import TimeReading

_MOVING = {"sync", "archive"}
"""Actions for which 'to …' is where the data ends up; for others it may be a reader."""
_LONGEST_NAME = 40
"""Characters of an unknown entity; more is a description, not a name."""
_WITHIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9]")
_ARTICLE = re.compile(r"^(?:the|our|a)\s+", re.IGNORECASE | re.ASCII)


def triple(
    action: str, thing: Named, destination: Named | None, time: TimeReading, glossary: Glossary, statement: str
) -> Recognised | Refused:
    """The triple. One whose entity or destination the glossary doesn't know has no target, and a flag.

    Its confidence is that of the rules: the share of the statement's letters and digits that they and the glossary explain.
    They map nothing with a word unexplained, so it is 1 but for a name that the glossary doesn't have.
    """
    unknown, flag, target = "", None, thing.slug
    if not thing.slug:
        if _is_no_name(thing.phrase):
            return Refused("unknown_target", f"Which data is {shown(thing.phrase)!r}?")
        nearest = ", ".join(glossary.nearest(thing.phrase)) or "none"
        unknown, flag = thing.phrase, f"unknown entity {thing.phrase!r}; nearest known: {nearest}"
    elif destination and destination.slug:
        target = f"{thing.slug}_{destination.slug}"
    elif destination and action in _MOVING:
        if _is_no_name(destination.phrase) or _begins_known(destination.phrase, glossary):
            return Refused("unknown_target", f"Which place is {shown(destination.phrase)!r}?")
        unknown, flag, target = destination.phrase, f"unknown destination {destination.phrase!r}", None
    return Recognised(action, thing.phrase, target, time, flag, confidence=_explained(statement, unknown))


def _is_no_name(phrase: str) -> bool:
    worded = any(char.isalpha() for char in phrase)
    return (
        not worded
        or TIME_MARK in phrase
        or len(phrase) > _LONGEST_NAME
        or bool(CONDITION.search(phrase) or NO_NAME.search(phrase) or TAKEN_BACK.search(phrase))
    )


def _begins_known(phrase: str, glossary: Glossary) -> bool:
    """Whether a place that is known stands at the start, with more behind it: 数仓的计划, 'the warehouse again'."""
    ends = (end for end in range(2, len(phrase)) if not _WITHIN_WORD.match(phrase, end - 1))
    return any(glossary.destination(_ARTICLE.sub("", phrase[:end])) for end in ends)


def _explained(statement: str, unknown: str) -> float:
    letters, open_letters = (sum(char.isalnum() for char in text) for text in (statement, unknown))
    return round(1 - open_letters / letters, 3)
