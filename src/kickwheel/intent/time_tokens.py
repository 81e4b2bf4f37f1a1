"""The words of time: what a lexicon finds in a statement, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kickwheel.intent.recurrence import ALL_MONTHS, month_length
from schemas.task import RejectionReason

WORKDAY_NOTE = "working days are read as Monday to Friday; public holidays are not left out"


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
    """nth of some days of the week in a month, or in some months only."""

    nth: int
    among: frozenset[int]
    note: str = ""
    months: frozenset[int] = ALL_MONTHS


@dataclass(frozen=True)
class Every:
    """An interval in minutes; ``at``: minutes past the hour, ascending, for hourly ones."""

    minutes: int
    at: tuple[int, ...] = ()


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
    """Words that can't be scheduled as they stand."""

    question: str
    reason: RejectionReason = "ambiguous_time"
    period: str = ""
    """``week``, ``month``, ``quarter`` or ``year``: clear, once days of such a period stand beside it."""


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


def year_days(dates: Sequence[tuple[int, int]]) -> Meaning:
    """Dates of each year, as (month, day): one day in several months, or the last days of several months."""
    months = frozenset(month for month, _ in dates)
    if not dates or not all(1 <= month <= 12 and 1 <= day <= 31 for month, day in dates):
        return Unclear("Which day of the year? Months go from 1 to 12, days from 1 to 31.")
    days = frozenset(day for _, day in dates)
    if len(days) == 1:
        return MonthDays(days, months)
    if all(month != 2 and day == month_length(month) for month, day in dates):
        return MonthDays(frozenset({-1}), months)
    return Unclear("Different days in different months: write a statement for each of them.")


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
