"""When a schedule fires, with notes on daylight saving.

A schedule is a set of minutes on its zone's wall clock. Each fires at that wall time's first occurrence; one that a
forward jump of the clock leaves out fires as much later as the jump is wide. That is what Prefect 3 does, with one exception
that the note tells: a rule (RRULE) whose time a jump leaves out runs as much earlier there, because dateutil reads it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from croniter import croniter
from dateutil.rrule import rrule, rruleset, rrulestr

from schemas.task import Schedule

_WIDEST_JUMP = timedelta(days=1)


@dataclass(frozen=True)
class FireTime:
    """One firing."""

    at: datetime
    """In the schedule's zone."""
    note: str = ""
    """What daylight saving does to it; empty: nothing."""


def fire_times(schedule: Schedule, start: datetime, count: int) -> list[FireTime]:
    """The first ``count`` firings at or after ``start`` (aware), in order, each instant once."""
    zone = ZoneInfo(schedule.zone)
    local = start.astimezone(zone).replace(tzinfo=None)
    found: dict[datetime, FireTime] = {}
    enough: datetime | None = None
    for wall in _walls(schedule, local - _WIDEST_JUMP):
        if enough and wall > enough:
            break
        fire = _fire(wall, zone, is_rule=schedule.cron is None)
        instant = fire.at.astimezone(UTC)
        if instant >= start and (instant not in found or not fire.note):
            found[instant] = fire
        if enough is None and len(found) >= count:
            enough = wall + _WIDEST_JUMP  # a later wall time may still be an earlier instant
    return [found[instant] for instant in islice(sorted(found), count)]


def _fire(wall: datetime, zone: ZoneInfo, *, is_rule: bool) -> FireTime:
    first, second = wall.replace(tzinfo=zone), wall.replace(tzinfo=zone, fold=1)
    at = first.astimezone(UTC).astimezone(zone)
    if at.replace(tzinfo=None) != wall:
        early = f"; Prefect runs a rule at {second.astimezone(UTC).astimezone(zone):%H:%M}" if is_rule else ""
        return FireTime(at, f"{wall:%H:%M} does not exist on {wall:%Y-%m-%d} (clocks go forward): runs at {at:%H:%M}{early}")
    if first.utcoffset() != second.utcoffset():
        return FireTime(at, f"{wall:%H:%M} comes twice on {wall:%Y-%m-%d} (clocks go back): runs the first time only")
    return FireTime(at)


def _walls(schedule: Schedule, start: datetime) -> Iterator[datetime]:
    """Wall times at or after ``start``, ascending."""
    if schedule.cron is not None:
        times = croniter(schedule.cron, start - timedelta(seconds=1))
        while True:
            yield times.get_next(datetime)
    yield from _rule(schedule.rrule or "", start).xafter(start, inc=True)


def _rule(text: str, start: datetime) -> rrule | rruleset:
    """The rule from a near start: strides keep their phase, other rules have none."""
    rule = rrulestr(text, dtstart=datetime(start.year, 1, 1))
    if "DTSTART" not in text:
        return rule
    anchor = rule._dtstart
    step = timedelta(hours=rule._interval) if "FREQ=HOURLY" in text else timedelta(minutes=rule._interval)
    return rule.replace(dtstart=anchor + max(0, (start - anchor) // step) * step)


def same_times(first: Schedule, second: Schedule, *, compared: int = 400) -> bool:
    """Whether two schedules fire at the same times, however they are written: told by their first firings of 2026."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [[fire.at for fire in fire_times(schedule, start, compared)] for schedule in (first, second)]
    return times[0] == times[1]
