"""Cron expressions: read strictly, written in one canonical form.

Canonical: five fields, digits only, Sunday 0, ascending lists, runs of three or more as ``1-5``, whole strides of minutes
or hours as ``*/15``. Day of month and day of week are never both set: schedulers disagree whether that means *and* or *or*
(Prefect reads *or*).

Fields are expanded here and not by croniter, which reads ``1-1`` as ``*`` and takes much that no other cron does; it
does the date arithmetic of the canonical form (:mod:`kickwheel.intent.fire_times`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kickwheel.intent.recurrence import ALL_MONTHS, EVERY_DAY, Monthly, Recurrence, Weekly, with_fixed_ends

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True)
class _Field:
    """Bounds of a field, and names for its values from the first on."""

    title: str
    first: int
    last: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _WEEKDAYS),
)
_PART = re.compile(r"(?:(?P<all>\*)|(?P<low>\w+)(?:-(?P<high>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)


class CronRefused(ValueError):
    """An expression that is not taken; the message says why and what to write instead."""


def read_cron(text: str, *, seconds_first: bool = False) -> Recurrence:
    """Read five fields, or six with the seconds first where the caller says that this is the form.

    Raises:
        CronRefused: see its message.
    """
    fields = text.split()
    if len(fields) == 6:
        if not seconds_first:
            raise CronRefused(
                f"{text!r} has six fields, and schedulers disagree whether seconds come first or last: "
                f"write five ({' '.join(fields[1:])!r} if seconds come first), or say --cron-format seconds-first"
            )
        if not re.fullmatch("0+", fields[0]):
            raise CronRefused(f"{text!r}: seconds other than 0 can't be scheduled")
        fields = fields[1:]
    if len(fields) != 5:
        raise CronRefused(f"{text!r} has {len(fields)} fields: five are expected (minute, hour, day, month, weekday)")
    if "?" in text:
        raise CronRefused(f"{text!r}: '?' is Quartz, where Sunday is 1: write '*', and Sunday as 0")
    minute, hour, day, month, weekday = (_values(field, kind, text) for field, kind in zip(fields, _FIELDS, strict=True))
    if fields[2] != "*" and fields[4] != "*":
        raise CronRefused(f"{text!r} sets both day of month and day of week, which schedulers join by 'or': split it in two")
    minutes = tuple(sorted(h * 60 + m for h in hour for m in minute))
    if fields[2] == "*":
        return Recurrence(Weekly(frozenset(value % 7 for value in weekday), month), minutes)
    return Recurrence(Monthly(day, month), minutes)


def _values(field: str, kind: _Field, text: str) -> frozenset[int]:
    """Values of a field as written.

    Raises:
        CronRefused: it is not standard, or out of bounds.
    """
    found: set[int] = set()
    for part in field.split(","):
        matched = _PART.fullmatch(part)
        if not matched or (matched["step"] and not (matched["all"] or matched["high"])):
            raise CronRefused(f"{text!r}: {part!r} is no {kind.title}: numbers, names, a-b, a-b/n, * and */n are")
        low = kind.first if matched["all"] else _value(matched["low"], kind, text)
        high = kind.last if matched["all"] else _value(matched["high"], kind, text) if matched["high"] else low
        step = int(matched["step"] or 1)
        if high < low or step < 1:
            raise CronRefused(f"{text!r}: {part!r} names no {kind.title}: ranges go upwards, steps are 1 or more")
        if matched["all"] and kind.names == _WEEKDAYS:
            high = 6
        found.update(range(low, high + 1, step))
    return frozenset(found)


def _value(word: str, kind: _Field, text: str) -> int:
    if word.lower() in kind.names:
        return kind.names.index(word.lower()) + kind.first
    if not word.isdecimal() or not kind.first <= int(word) <= kind.last:
        raise CronRefused(f"{text!r}: {word!r} is no {kind.title} from {kind.first} to {kind.last}")
    return int(word)


def write_cron(when: Recurrence) -> str | None:
    """The canonical expression, or None where cron can't say it."""
    hours = sorted({minute // 60 for minute in when.minutes})
    minutes = sorted({minute % 60 for minute in when.minutes})
    if len(hours) * len(minutes) != len(when.minutes):
        return None
    day, month, weekday = "*", "*", "*"
    if isinstance(when.days, Weekly):
        weekday = "*" if when.days.days == EVERY_DAY else _listed(when.days.days)
        month = "*" if when.days.months == ALL_MONTHS else _listed(when.days.months)
    elif isinstance(when.days, Monthly):
        days = with_fixed_ends(when.days)
        if min(days.days) < 0:
            return None
        day = "*" if len(days.days) == 31 else _listed(days.days)
        month = "*" if days.months == ALL_MONTHS else _listed(days.months)
    else:
        return None
    return f"{_strided(minutes, 60)} {_strided(hours, 24)} {day} {month} {weekday}"


def with_seconds_first(cron: str) -> str:
    """The six-field form with the seconds first."""
    return f"0 {cron}"


def _strided(values: list[int], size: int) -> str:
    if len(values) == size:
        return "*"
    step = size // len(values)
    if len(values) > 1 and values == list(range(0, size, step)):
        return f"*/{step}"
    return _listed(values)


def _listed(values: Iterable[int]) -> str:
    parts: list[str] = []
    run: list[int] = []
    for value in [*sorted(values), None]:
        if run and value != run[-1] + 1:
            parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
            run = []
        if value is not None:
            run.append(value)
    return ",".join(parts)
