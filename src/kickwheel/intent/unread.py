"""What stands around a task and says nothing that a task can hold: who asked, why, who owns the row.

It is set aside only where it has the words of a wish or a reason and none that could bound, forbid or time the task, and the
task is flagged with it: a person reads it before anything is deployed.
"""

from __future__ import annotations

import re

from kickwheel.intent.glossary import Glossary
from kickwheel.intent.statement_words import (
    CALENDAR,
    CONDITION,
    DENIED_EN,
    DENIED_ZH,
    LIMITS,
    OTHER_VERBS,
    TAKEN_BACK,
    TIME_LIKE,
)
from kickwheel.intent.time_reading import time_tokens

_EXPLAINS = re.compile(
    r"\b(?:needs?|needed|wants?|wanted|ask(?:s|ed)|request(?:s|ed)|uses?|used|depends?|rel(?:y|ies)|looks?|complain(?:s|ed)|keeps?|shows?"
    r"|because|becuase|owner|prepares?|reads?|reviews?|reports?)\b"
    r"|需要|要用|要看|使用|[给供].{1,6}用|反映|申请|提出|方便|以便|太忙|负责|中心$|部$|组$",
    re.IGNORECASE | re.ASCII,
)
"""Who wants it, and what for."""
_PARTS = re.compile(r"\s*(?:[,;:|。]|\s-\s)\s*")
_LONGEST = 90
_BOUNDS = (CALENDAR, CONDITION, DENIED_EN, DENIED_ZH, LIMITS, TAKEN_BACK, TIME_LIKE)
_MORE_BOUNDS = re.compile(
    r"[\d?？%]|仅|只|先|再|前|后|时|期|至|到|试|审批|批准|确认|手工|人工|每|测试|环境|范围|全部|部分|另|其他|其它"
    r"|\b(?:first|before|after|during|approv\w+|confirm\w*|manual\w*|test\w*|staging|all|some|any|other|also|than|time|times"
    r"|from|to|into|with|without|for\s+now|pending|draft|old|instead|both|each|every|once|twice)\b",
    re.IGNORECASE | re.ASCII,
)
"""Words that may bound a task in ways that the lists above, made for other places, leave open."""


def without_unread(text: str, glossary: Glossary) -> tuple[str, tuple[str, ...]]:
    """The statement without harmless parts at its ends, and these parts; nothing is taken from between what is read."""
    cuts = [0, *(place for match in _PARTS.finditer(text) for place in match.span()), len(text)]
    parts = [(cuts[place], cuts[place + 1]) for place in range(0, len(cuts), 2)]
    first, last = 0, len(parts) - 1
    while first < last and _is_harmless(text[slice(*parts[first])], glossary):
        first += 1
    while last > first and _is_harmless(text[slice(*parts[last])], glossary):
        last -= 1
    unread = [text[slice(*part)] for part in (*parts[:first], *parts[last + 1 :])]
    return text[parts[first][0] : parts[last][1]], tuple(part for part in unread if any(char.isalpha() for char in part))


def _is_harmless(part: str, glossary: Glossary) -> bool:
    if not any(char.isalnum() for char in part):
        return True
    low = part.lower()
    return (
        len(part) <= _LONGEST
        and bool(_EXPLAINS.search(part))
        and not any(pattern.search(part) for pattern in _BOUNDS)
        and not _MORE_BOUNDS.search(part)
        and not OTHER_VERBS.search(part)
        and not glossary.action_pattern.search(part)
        and not any(name.lower() in low for name in (*glossary.entities, *glossary.destinations))
        and not time_tokens(part, glossary)
    )
