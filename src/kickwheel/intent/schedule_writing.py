"""From a recurrence to the schedule that a scheduler runs, or the reason why none should."""

from __future__ import annotations

from kickwheel.intent.cron_text import write_cron
from kickwheel.intent.recurrence import Recurrence, Stride, ever_happens, shortest_gap
from kickwheel.intent.recurrence_rule import write_rrule
from kickwheel.intent.time_refused import TimeRefused
from schemas.task import Schedule


def write_schedule(when: Recurrence | Stride, zone: str, *, min_interval_minutes: int) -> Schedule:
    """Cron where cron can say it, else a rule.

    Raises:
        TimeRefused: it would never fire, or too often.
    """
    if not ever_happens(when):
        raise TimeRefused(
            "No year has such a day: which day is meant? The last of a month is 'last day of the month'", "invalid_schedule"
        )
    gap, limit = shortest_gap(when), min_interval_minutes
    if gap < limit:
        every = "minute" if gap == 1 else f"{gap} minutes"
        raise TimeRefused(
            f"Every {every} is more often than the limit of {limit} minutes: is */{limit} * * * * enough?",
            "invalid_schedule",
        )
    cron = write_cron(when) if isinstance(when, Recurrence) else None
    return Schedule(cron=cron, rrule=None if cron else write_rrule(when), zone=zone)
