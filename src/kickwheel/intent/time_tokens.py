"""The words of time: what a lexicon finds in a statement, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """A time of day as written; ``half``: ``am`` or ``pm``, already counted in, or ``exact`` (noon)."""

    hour: int
    minute: int = 0
    half: str = ""


@dataclass(frozen=True)
class Clocks:
    """One or more times of day in a list."""

    times: tuple[Clock, ...]


@dataclass(frozen=True)
class PartOfDay:
    """``night``, ``morning``, ``noon``, ``afternoon`` or ``evening``; ``whole``: it tells of every time in the statement."""

    name: str
    whole: bool = False


@dataclass(frozen=True)
class WeekDays:
    """Days of the week, Sunday 0. Not ``recurring``: just 'Monday', which may be the next one only."""

    days: frozenset[int]
    recurring: bool = True
    note: str = ""


@dataclass(frozen=True)
class MonthDays:
    """Days of the month, negative from its end; ``months`` None: not said."""

    days: frozenset[int]
    months: frozenset[int] | None = None


@dataclass(frozen=True)
class NthOfMonth:
    """nth of some days of the week in a month."""

    nth: int
    among: frozenset[int]
    note: str = ""


@dataclass(frozen=True)
class Every:
    """An interval in minutes; ``at``: minutes past the hour, for hourly ones."""

    minutes: int
    at: int | None = None


@dataclass(frozen=True)
class Between:
    """Part of the day, from and to clock times."""

    first: Clock
    last: Clock


@dataclass(frozen=True)
class Times:
    """Clock times settled: minutes from midnight, ascending; 1440 is the midnight at the end of the day."""

    minutes: tuple[int, ...]


@dataclass(frozen=True)
class Span:
    """Part of the day settled: minutes from midnight, both ends included."""

    first: int
    last: int


@dataclass(frozen=True)
class PerDay:
    """So many times a day."""

    count: int


@dataclass(frozen=True)
class InZone:
    """A zone by its IANA name."""

    name: str


@dataclass(frozen=True)
class CronWords:
    """A cron expression as written."""

    text: str


@dataclass(frozen=True)
class Unclear:
    """Words that can't be scheduled as they stand. ``zone``: it's the zone that is unclear."""

    question: str
    zone: bool = False


@dataclass(frozen=True)
class Loose:
    """Words such as 定期 or 'regularly': nothing beside a schedule, a question without one."""


@dataclass(frozen=True)
class OnRequest:
    """No schedule at all: 按需, 'on request'."""


@dataclass(frozen=True)
class DataPeriod:
    """Which data is meant (昨天的, 'last week's'), not when the task runs."""


@dataclass(frozen=True)
class Named:
    """A word that only the domain's time words explain."""


Meaning = (
    Clocks
    | PartOfDay
    | WeekDays
    | MonthDays
    | NthOfMonth
    | Every
    | Between
    | Times
    | Span
    | PerDay
    | InZone
    | CronWords
    | Unclear
    | Loose
    | OnRequest
    | DataPeriod
    | Named
)


@dataclass(frozen=True)
class Token:
    """A meaning at its place in the normalised text."""

    meaning: Meaning
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Entry:
    """One line of a lexicon. ``read`` returns None where the match is not meant after all."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Meaning | None]


def entry(pattern: str, meaning: Meaning | Callable[[re.Match[str]], Meaning | None]) -> Entry:
    """A lexicon line; English words in it need their own ``\\b``."""
    return Entry(re.compile(pattern, re.IGNORECASE | re.ASCII), meaning if callable(meaning) else lambda _match: meaning)


def find_tokens(text: str, lexicon: Sequence[Entry]) -> list[Token]:
    """Tokens in text order, without overlap: the earliest wins, then the longest, then the first in the lexicon."""
    tokens: list[Token] = []
    upcoming = [_next(line, text, 0) for line in lexicon]
    while found := [token for token in upcoming if token]:
        best = min(found, key=lambda token: (token.start, -token.end))
        tokens.append(best)
        upcoming = [
            _next(line, text, best.end) if token and token.start < best.end else token
            for line, token in zip(lexicon, upcoming, strict=True)
        ]
    return tokens


def _next(line: Entry, text: str, start: int) -> Token | None:
    """The line's next match at or after ``start`` that it really means."""
    for match in line.pattern.finditer(text, start):
        meaning = line.read(match) if match.end() > match.start() else None
        if meaning is not None:
            return Token(meaning, match.start(), match.end(), match.group())
    return None
