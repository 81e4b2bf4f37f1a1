"""What a document says beside or below a statement and nobody reads as a task: a person must look where it bounds the task.

'Sync orders every day at 9. Not on weekends.' is one requirement in two sentences, and a table may have a column for notes.
Nothing is guessed from them; a task with such an aside carries a flag, so that it does not run when the document takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from kickwheel.intent.documents import Statement
from kickwheel.intent.glossary import Glossary, load_glossary
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.statement_words import CONDITION, LIMITS
from kickwheel.intent.suspicion import LONGEST
from kickwheel.intent.time_reading import time_tokens
from kickwheel.intent.time_tokens import DataPeriod, InZone, Loose, Token

_TAKES_BACK = re.compile(
    r"[仅只停休]|限|无|没|未|顺延|提前|推迟|跳过|起|止"
    r"|\b(?:no|nor|none|skip\w*|exclud\w*|exempt\w*|suspend\w*|paus\w*|postpon\w*|stop\w*|mov\w*|start\w*|ends?|ending)\b|n't\b",
    re.IGNORECASE | re.ASCII,
)
"""Beside the words of a condition: what bounds a time, or takes it back."""


def doubts(statements: Sequence[Statement], mapped: Sequence[bool]) -> dict[int, str]:
    """Why a person must look at the tasks of a statement, by its index. ``mapped``: which statements became tasks."""
    found: dict[int, list[str]] = {}
    for index, statement in enumerate(statements):
        if mapped[index]:
            found.setdefault(index, []).extend(f"its row says {cell!r} too" for cell in statement.unread if _bounds_row(cell))
        elif (task := _task_above(index, statements, mapped)) is not None and _bounds(statement.quote):
            found.setdefault(task, []).append(f"line {statement.line} says {statement.quote!r} about it")
    return {index: f"{' and '.join(told)}, which is not read" for index, told in found.items() if told}


def taken_back(statements: Sequence[Statement], mapped: Sequence[bool]) -> dict[int, list[int]]:
    """Statements without a task that bound or deny something, by the index of the mapped one that they stand below.

    Of these, one that names the task itself contradicts it: 'Load prices at 7; prices must only be loaded at 19'.
    """
    found: dict[int, list[int]] = {}
    for index, statement in enumerate(statements):
        if mapped[index] or (task := _task_above(index, statements, mapped)) is None:
            continue
        text = normalise(statement.quote)[:LONGEST]
        if CONDITION.search(text) or _TAKES_BACK.search(text) or LIMITS.search(text) or _times_in(text):
            found.setdefault(task, []).append(index)
    return found


def _task_above(index: int, statements: Sequence[Statement], mapped: Sequence[bool]) -> int | None:
    above = statements[index].above
    while above is not None and not mapped[above]:
        above = statements[above].above
    return above


def _bounds_row(cell: str) -> bool:
    """A cell stands in the statement's own row: any word of time or of a condition may bound it."""
    text = normalise(cell)[:LONGEST]
    return bool(CONDITION.search(text)) or any(not isinstance(token.meaning, DataPeriod) for token in _tokens(text))


def _bounds(sentence: str) -> bool:
    """A sentence of its own may be about something else: it bounds the task before where it takes back some time."""
    text = normalise(sentence)[:LONGEST]
    if not CONDITION.search(text) and not _TAKES_BACK.search(text):
        return False
    return _times_in(text)


def _times_in(text: str) -> bool:
    return any(not isinstance(token.meaning, DataPeriod | InZone | Loose) for token in _tokens(text))


def _tokens(text: str) -> list[Token]:
    return time_tokens(text, _everybodys_words())


@cache
def _everybodys_words() -> Glossary:
    return load_glossary()
