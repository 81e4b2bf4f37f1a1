"""The preview of fire times is what Prefect will really do."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from kickwheel.intent.fire_times import fire_times
from schemas.task import Schedule

STARTS = [datetime(2026, 3, 7, 12), datetime(2026, 3, 28, 20), datetime(2026, 10, 24, 22), datetime(2026, 10, 31, 20)]
SCHEDULES = [
    {"cron": "*/30 * * * *"},
    {"cron": "30 1,2 * * *"},
    {"cron": "0 9 31 * *"},
    {"cron": "0 18 * * 1-5"},
    {"rrule": "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=18;BYMINUTE=30;BYSECOND=0"},
    {"rrule": "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=17;BYMINUTE=0;BYSECOND=0;BYSETPOS=-1"},
    {"rrule": "DTSTART:20200101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=90;BYSECOND=0"},
    {"rrule": "RRULE:FREQ=DAILY;BYHOUR=6;BYMINUTE=30;BYSECOND=0\nRRULE:FREQ=DAILY;BYHOUR=18;BYMINUTE=0;BYSECOND=0"},
]


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("written", SCHEDULES, ids=str)
def test_preview_equals_prefect_s_dates(written: dict[str, str], zone: str) -> None:
    from prefect.server.schemas.schedules import CronSchedule, RRuleSchedule

    theirs = CronSchedule(cron=written["cron"], timezone=zone) if "cron" in written else RRuleSchedule(**written, timezone=zone)
    for start in (naive.replace(tzinfo=UTC) for naive in STARTS):
        ours = [fire.at.astimezone(UTC) for fire in fire_times(Schedule(**written, zone=zone), start, 24)]
        dates = asyncio.run(theirs.get_dates(24, start))
        assert ours == [datetime.fromisoformat(date.isoformat()).astimezone(UTC) for date in dates]


def test_rule_that_the_clock_jumps_over_runs_in_prefect_when_the_note_says() -> None:
    from prefect.server.schemas.schedules import RRuleSchedule

    rule = "FREQ=DAILY;BYHOUR=2;BYMINUTE=30;BYSECOND=0"
    start = datetime(2026, 3, 29, 0, 0, tzinfo=UTC)
    [ours] = fire_times(Schedule(rrule=rule, zone="Europe/Berlin"), start, 1)
    [theirs] = asyncio.run(RRuleSchedule(rrule=rule, timezone="Europe/Berlin").get_dates(1, start))
    assert ours.note.endswith(f"Prefect runs a rule at {theirs:%H:%M}")
