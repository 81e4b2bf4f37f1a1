"""When something happens again and again, on the wall clock of a zone: days, and minutes of those days."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 24 * 60
ALL_MONTHS = frozenset(range(1, 13))
EVERY_DAY = frozenset(range(7))
WORKWEEK = frozenset(range(1, 6))
QUARTER_STARTS, QUARTER_ENDS = frozenset({1, 4, 7, 10}), frozenset({3, 6, 9, 12})


@dataclass(frozen=True)
class Weekly:
    """Days of the week, Sunday 0."""

    days: frozenset[int] = EVERY_DAY
    months: frozenset[int] = ALL_MONTHS


@dataclass(frozen=True)
class Monthly:
    """Days of the month from 1, or counted from its end from -1; a month without such a day is passed over."""

    days: frozenset[int]
    months: frozenset[int] = ALL_MONTHS


@dataclass(frozen=True)
class NthDay:
    """The first (1), second (2), last (-1) … of some days of the week in a month: first Monday, last working day."""

    nth: int
    among: frozenset[int]
    months: frozenset[int] = ALL_MONTHS


Days = Weekly | Monthly | NthDay


@dataclass(frozen=True)
class Recurrence:
    """Days, and on each the minutes from midnight (0 to 1439, ascending)."""

    days: Days
    minutes: tuple[int, ...]


@dataclass(frozen=True)
class Stride:
    """Every so many minutes, day in day out, counted from midnight of 2020-01-01: intervals that no day pattern repeats."""

    minutes: int
    days: frozenset[int] = EVERY_DAY


def shortest_gap(when: Recurrence | Stride) -> int:
    """Minutes between two neighbours, a whole day if there is one time a day."""
    if isinstance(when, Stride):
        return when.minutes
    following = [*when.minutes[1:], when.minutes[0] + DAY]
    return min(later - earlier for earlier, later in zip(when.minutes, following, strict=True))


_LONGEST = {1: 31, 2: 29, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}


def month_length(month: int) -> int:
    """Days of a month, of February in a leap year."""
    return _LONGEST[month]


def ever_happens(when: Recurrence | Stride) -> bool:
    """Whether any day of any year fits."""
    if isinstance(when, Recurrence) and isinstance(when.days, Monthly):
        return any(abs(day) <= _LONGEST[month] for day in when.days.days for month in when.days.months)
    return True


def with_fixed_ends(days: Monthly) -> Monthly:
    """Days counted from the end as days from the start, where all months are equally long: Dec -1 is Dec 31."""
    lengths = {_LONGEST[month] for month in days.months}
    if len(lengths) != 1 or 2 in days.months:
        return days
    length = lengths.pop()
    return Monthly(frozenset(day if day > 0 else length + 1 + day for day in days.days), days.months)
