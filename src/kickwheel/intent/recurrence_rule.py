"""Recurrences as RFC 5545 rules, for what cron can't say: never an approximation."""

from __future__ import annotations

from kickwheel.intent.recurrence import ALL_MONTHS, EVERY_DAY, Monthly, NthDay, Recurrence, Stride, Weekly

_DAY_NAMES = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
ANCHOR = "DTSTART:20200101T000000"
"""Where strides are counted from: midnight on the wall clock of the schedule's zone (Prefect's own default)."""


def write_rrule(when: Recurrence | Stride) -> str:
    """The rule, to be read on the wall clock of the schedule's zone; several are lines that begin with ``RRULE:``.

    Strides carry their DTSTART, other rules need none. Times that are no grid of hours and minutes become several rules:
    BYSETPOS could pick them from a grid, but dateutil orders a day's times wrongly where the clock jumps.
    """
    if isinstance(when, Stride):
        frequency, interval = ("HOURLY", when.minutes // 60) if when.minutes % 60 == 0 else ("MINUTELY", when.minutes)
        days = "" if when.days == EVERY_DAY else f";BYDAY={_names(when.days)}"
        return f"{ANCHOR}\nRRULE:FREQ={frequency};INTERVAL={interval}{days};BYSECOND=0"
    alone = isinstance(when.days, NthDay) and len(when.days.among) > 1
    days, position = _days(when.days), _position(when.days)
    rules = [
        f"{days};BYHOUR={_numbers(hours)};BYMINUTE={_numbers(minutes)};BYSECOND=0{position}"
        for hours, minutes in _grids(when.minutes, alone)
    ]
    return rules[0] if len(rules) == 1 else "\n".join(f"RRULE:{rule}" for rule in rules)


def _grids(times: tuple[int, ...], alone: bool) -> list[tuple[list[int], list[int]]]:
    """Hours and minutes whose combinations are the times: hours with the same minutes together, or each time alone."""
    if alone:
        return [([time // 60], [time % 60]) for time in times]
    by_hour: dict[int, list[int]] = {}
    for time in times:
        by_hour.setdefault(time // 60, []).append(time % 60)
    by_minutes: dict[tuple[int, ...], list[int]] = {}
    for hour, minutes in by_hour.items():
        by_minutes.setdefault(tuple(minutes), []).append(hour)
    return [(hours, list(minutes)) for minutes, hours in by_minutes.items()]


def _days(days: Weekly | Monthly | NthDay) -> str:
    parts = [] if days.months == ALL_MONTHS else [f"BYMONTH={_numbers(sorted(days.months))}"]
    if isinstance(days, Weekly):
        parts += [] if days.days == EVERY_DAY else [f"BYDAY={_names(days.days)}"]
        return ";".join(["FREQ=DAILY", *parts])
    if isinstance(days, Monthly):
        return ";".join(["FREQ=MONTHLY", *parts, f"BYMONTHDAY={_numbers(sorted(days.days))}"])
    names = f"{days.nth}{_names(days.among)}" if len(days.among) == 1 else _names(days.among)
    return ";".join(["FREQ=MONTHLY", *parts, f"BYDAY={names}"])


def _position(days: Weekly | Monthly | NthDay) -> str:
    """Which of a month's working days, say; one weekday carries its number itself (1MO)."""
    return f";BYSETPOS={days.nth}" if isinstance(days, NthDay) and len(days.among) > 1 else ""


def _names(days: frozenset[int]) -> str:
    """Monday first, as RFC 5545 does."""
    return ",".join(_DAY_NAMES[day] for day in sorted(days, key=lambda day: (day - 1) % 7))


def _numbers(values: list[int]) -> str:
    return ",".join(map(str, values))
