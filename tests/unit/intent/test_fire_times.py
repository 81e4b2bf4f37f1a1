"""The preview: when a schedule fires next, and what daylight saving does to it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kickwheel.intent.fire_times import fire_times, same_times
from schemas.task import Schedule


def at(schedule: Schedule, start: datetime, count: int) -> list[str]:
    return [fire.at.isoformat() for fire in fire_times(schedule, start, count)]


def test_firings_are_on_the_zone_s_wall_clock() -> None:
    """zenml-io/zenml 2209: '0 9 * * *' ran at 11."""
    schedule = Schedule(cron="0 9 * * *", zone="Asia/Shanghai")
    assert at(schedule, datetime(2026, 5, 1, 0, 59, tzinfo=UTC), 2) == [
        "2026-05-01T09:00:00+08:00",
        "2026-05-02T09:00:00+08:00",
    ]


def test_a_firing_at_the_very_start_counts() -> None:
    schedule = Schedule(cron="0 9 * * *", zone="UTC")
    assert at(schedule, datetime(2026, 5, 1, 9, tzinfo=UTC), 1) == ["2026-05-01T09:00:00+00:00"]


def test_time_that_the_clock_jumps_over_runs_later_with_a_note() -> None:
    """PrefectHQ/prefect PR 10678; conventions, section 1: 02:30 in the spring gap runs at 03:30."""
    fires = fire_times(Schedule(cron="30 2 * * *", zone="Europe/Berlin"), datetime(2026, 3, 28, 12, tzinfo=UTC), 2)
    assert [fire.at.isoformat() for fire in fires] == ["2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"]
    assert [bool(fire.note) for fire in fires] == [True, False]
    assert "does not exist on 2026-03-29" in fires[0].note


def test_time_that_comes_twice_runs_once_with_a_note() -> None:
    fires = fire_times(Schedule(cron="30 1 * * *", zone="America/New_York"), datetime(2026, 10, 31, 12, tzinfo=UTC), 2)
    assert [fire.at.isoformat() for fire in fires] == ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]
    assert "comes twice on 2026-11-01" in fires[0].note


def test_jumped_over_times_fall_together_with_others_once_and_in_order() -> None:
    schedule = Schedule(cron="*/30 * * * *", zone="Europe/Berlin")
    fires = at(schedule, datetime(2026, 3, 29, 0, 30, tzinfo=UTC), 5)
    assert [fire[11:16] for fire in fires] == ["01:30", "03:00", "03:30", "04:00", "04:30"]


def test_rule_that_is_jumped_over_says_what_prefect_does() -> None:
    schedule = Schedule(rrule="FREQ=DAILY;BYHOUR=2;BYMINUTE=30;BYSECOND=0", zone="Europe/Berlin")
    [fire] = fire_times(schedule, datetime(2026, 3, 29, 0, 0, tzinfo=UTC), 1)
    assert fire.note.endswith("Prefect runs a rule at 01:30")


def test_stride_keeps_its_phase_from_its_anchor() -> None:
    schedule = Schedule(rrule="DTSTART:20200101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=90;BYSECOND=0", zone="UTC")
    assert [fire[11:16] for fire in at(schedule, datetime(2026, 7, 1, 0, 1, tzinfo=UTC), 3)] == ["01:30", "03:00", "04:30"]


def test_last_day_follows_the_length_of_the_month() -> None:
    schedule = Schedule(rrule="FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=18;BYMINUTE=0;BYSECOND=0", zone="UTC")
    assert [fire[:10] for fire in at(schedule, datetime(2028, 1, 15, tzinfo=UTC), 3)] == [
        "2028-01-31",
        "2028-02-29",
        "2028-03-31",
    ]


def test_same_times_are_the_same_however_they_are_written() -> None:
    rule = Schedule(rrule="FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0", zone="UTC")
    assert same_times(rule, Schedule(rrule="FREQ=DAILY;BYMINUTE=0;BYHOUR=9;BYSECOND=0", zone="UTC"))
    assert not same_times(rule, Schedule(rrule="FREQ=DAILY;BYHOUR=9;BYMINUTE=1;BYSECOND=0", zone="UTC"))


@pytest.mark.parametrize("given", [{}, {"cron": "0 9 * * *", "rrule": "FREQ=DAILY"}])
def test_schedule_has_exactly_one_of_cron_and_rrule(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        Schedule(zone="UTC", **given)
