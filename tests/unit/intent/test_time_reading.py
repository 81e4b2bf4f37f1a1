"""Phrases and the schedules that they name, or the question that they raise."""

from __future__ import annotations

import pytest

from kickwheel.intent.glossary import Glossary, load_glossary
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.recurrence import Recurrence, Stride
from kickwheel.intent.schedule_writing import write_schedule
from kickwheel.intent.time_reading import TimeReading, read_time, time_tokens
from kickwheel.intent.time_refused import TimeRefused

DAILY = "RRULE:FREQ=DAILY"
LAST_DAY = "FREQ=MONTHLY;BYMONTHDAY=-1"
QUARTER_END = "FREQ=MONTHLY;BYMONTH=3,6,9,12;BYMONTHDAY=-1"


@pytest.fixture(scope="module")
def glossary() -> Glossary:
    return load_glossary()


def read(phrase: str, glossary: Glossary) -> TimeReading:
    text = normalise(phrase)
    return read_time(text, time_tokens(text, glossary), glossary)


def written(when: Recurrence | Stride | None) -> str | None:
    if when is None:
        return None
    schedule = write_schedule(when, "UTC", min_interval_minutes=5)
    return schedule.cron or schedule.rrule


@pytest.mark.parametrize(
    ("phrase", "schedule"),
    [
        ("每日9点", "0 9 * * *"),
        ("每日９点", "0 9 * * *"),
        ("每天早上八点半", "30 8 * * *"),
        ("每天上午十点一刻", "15 10 * * *"),
        ("每天下午三点四十五分", "45 15 * * *"),
        ("每天二十一点零五分", "5 21 * * *"),
        ("每天凌晨2点", "0 2 * * *"),
        ("每晚8点", "0 20 * * *"),
        ("每天中午", "0 12 * * *"),
        ("每天24点", "0 0 * * *"),
        ("每天早上8点、10点和晚上8点", "0 8,10,20 * * *"),
        ("每天两次，6点和18点", "0 6,18 * * *"),
        ("工作日18:00", "0 18 * * 1-5"),
        ("每周一三五8点", "0 8 * * 1,3,5"),
        ("每周一、周三和周五8点", "0 8 * * 1,3,5"),
        ("周一至周五9点", "0 9 * * 1-5"),
        ("每周三三点", "0 3 * * 3"),
        ("每周五六点半", "30 6 * * 5"),
        ("每周三十点", "0 10 * * 3"),
        ("每星期天23点", "0 23 * * 0"),
        ("周末10点", "0 10 * * 0,6"),
        ("每週一9點", "0 9 * * 1"),
        ("每月1号6点", "0 6 1 * *"),
        ("每月1号和15号6点", "0 6 1,15 * *"),
        ("每月末18:30", f"{LAST_DAY};BYHOUR=18;BYMINUTE=30;BYSECOND=0"),
        ("月末18点", f"{LAST_DAY};BYHOUR=18;BYMINUTE=0;BYSECOND=0"),
        ("每月第一个周一10点", "FREQ=MONTHLY;BYDAY=1MO;BYHOUR=10;BYMINUTE=0;BYSECOND=0"),
        ("每月最后一个工作日17点", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=17;BYMINUTE=0;BYSECOND=0;BYSETPOS=-1"),
        ("每季度首日9点", "0 9 1 1,4,7,10 *"),
        ("每季度末20点", f"{QUARTER_END};BYHOUR=20;BYMINUTE=0;BYSECOND=0"),
        ("每年1月1日0点", "0 0 1 1 *"),
        ("每年最后一天22点", "0 22 31 12 *"),
        ("每隔15分钟", "*/15 * * * *"),
        ("15分钟一次", "*/15 * * * *"),
        ("每小时", "0 * * * *"),
        ("每小时第20分钟", "20 * * * *"),
        ("每半小时", "*/30 * * * *"),
        ("每两小时", "0 */2 * * *"),
        ("每一个半小时", "DTSTART:20200101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=90;BYSECOND=0"),
        ("工作日9点到18点每小时", "0 9-18 * * 1-5"),
        ("工作时间每小时", "0 9-17 * * 1-5"),
        ("every day at 9", "0 9 * * *"),
        ("daily at 9:30 a.m.", "30 9 * * *"),
        ("every weekday at 6pm", "0 18 * * 1-5"),
        ("twice a day, at 6 and 18", "0 6,18 * * *"),
        ("at half past six every morning", "30 6 * * *"),
        ("every night at 2", "0 2 * * *"),
        ("every evening at 6", "0 18 * * *"),
        ("every day at 8 in the evening", "0 20 * * *"),
        ("Mon, Wed and Fri at noon", "0 12 * * 1,3,5"),
        ("Mondays at 5 p.m.", "0 17 * * 1"),
        ("Saturday to Monday at 7:15", "15 7 * * 0,1,6"),
        ("daily at 0630 hrs", "30 6 * * *"),
        ("daily at midnight", "0 0 * * *"),
        ("hourly", "0 * * * *"),
        ("every hour at :15", "15 * * * *"),
        ("hourly during business hours", "0 9-17 * * 1-5"),
        ("every half hour", "*/30 * * * *"),
        ("every 2 hours", "0 */2 * * *"),
        ("every 90 minutes", "DTSTART:20200101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=90;BYSECOND=0"),
        ("on the 1st and 15th of each month at 8:00", "0 8 1,15 * *"),
        ("first Monday of the month at 9am", "FREQ=MONTHLY;BYDAY=1MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0"),
        ("last day of the month at 11pm", f"{LAST_DAY};BYHOUR=23;BYMINUTE=0;BYSECOND=0"),
        ("end of quarter at 18:00", f"{QUARTER_END};BYHOUR=18;BYMINUTE=0;BYSECOND=0"),
        ("every December 24th at 10:00", "0 10 24 12 *"),
        ("at 6:30 and 18:00 every day", f"{DAILY};BYHOUR=6;BYMINUTE=30;BYSECOND=0\n{DAILY};BYHOUR=18;BYMINUTE=0;BYSECOND=0"),
        (
            "every 40 minutes from 9 to 11",
            "\n".join(f"{DAILY};BYHOUR={hour};BYMINUTE={at};BYSECOND=0" for hour, at in ((9, "0,40"), (10, 20), (11, 0))),
        ),
        ("0 9 * * mon-fri", "0 9 * * 1-5"),
    ],
)  # fmt: skip
def test_phrase_names_a_schedule(phrase: str, schedule: str, glossary: Glossary) -> None:
    assert written(read(phrase, glossary).when) == schedule


@pytest.mark.parametrize(
    "phrase",
    [
        "T+1", "每天凌晨", "每晚", "每周一三五", "每月1号", "月末", "每周", "每周二十点", "每周五点", "每周三、五点",
        "每周一到五点",
        "每月", "每季度", "月初9点", "9点", "明天9点",
        "每两天9点", "隔天9点", "每天9点左右", "每天9点前", "每天两次", "每天两次，6点、12点和18点", "每天6点和每周一8点",
        "每小时，9点", "每天24点和周一8点", "周一9点", "实时", "定期", "除周末外每天9点", "每天晚上3点", "twice a day",
        "nightly", "weekly at 9am", "monthly", "Monday at 9", "every other day at 9", "biweekly", "tomorrow at 9",
        "by 9am every day", "at 6 and 8 pm every day", "daily except holidays at 9", "midnight on Fridays", "every weekday",
        "after the load finishes", "regularly", "9 to 5pm hourly", "every 30 minutes from 22 to 6",
        "every day and every Monday at 9",
    ],
)  # fmt: skip
def test_what_may_mean_two_things_is_a_question(phrase: str, glossary: Glossary) -> None:
    with pytest.raises(TimeRefused) as refused:
        read(phrase, glossary)
    assert refused.value.reason in {"ambiguous_time", "contradiction"}
    assert "?" in str(refused.value)


@pytest.mark.parametrize(
    "phrase", ["每天25点", "daily at 13pm", "每天9点75分", "0 0 9 * * *", "0 9 1-7 * 1", "0 9 31 2 *", "每分钟", "* * * * *"]
)
def test_what_no_clock_or_calendar_shows_is_refused(phrase: str, glossary: Glossary) -> None:
    with pytest.raises(TimeRefused) as refused:
        written(read(phrase, glossary).when)
    assert refused.value.reason == "invalid_schedule"


@pytest.mark.parametrize(
    ("phrase", "zone"),
    [
        ("every weekday at 6pm Berlin time", "Europe/Berlin"),
        ("daily at 9 New York time", "America/New_York"),
        ("daily at 9:00 Europe/Paris", "Europe/Paris"),
        ("daily at 9:00 UTC", "UTC"),
        ("daily at 9:00 UTC+8", "Etc/GMT-8"),
        ("每天9点（北京时间）", "Asia/Shanghai"),
        ("纽约时间每天9点", "America/New_York"),
        ("每天9点", None),
    ],
)
def test_zone_comes_from_the_words_or_not_at_all(phrase: str, zone: str | None, glossary: Glossary) -> None:
    assert read(phrase, glossary).zone == zone


@pytest.mark.parametrize(
    "phrase", ["每天9点CST", "daily at 9am EST", "daily at 9 local time", "daily at 9am Springfield time", "每天9点当地时间"]
)
def test_zone_that_may_be_several_is_a_question(phrase: str, glossary: Glossary) -> None:
    """PrefectHQ/prefect 3340: 'EST' confused people; only IANA names are sure."""
    with pytest.raises(TimeRefused) as refused:
        read(phrase, glossary)
    assert refused.value.reason == "ambiguous_zone"


def test_the_domain_s_time_words_settle_what_they_name(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("words") / "glossary.yaml"
    path.write_text(
        'time_words: {凌晨: "02:00", T+1: "03:30", nightly: "01:00", 月末: "18:00", 收盘后: "15:30"}', encoding="utf-8"
    )
    glossary = load_glossary(path)
    assert written(read("每天凌晨", glossary).when) == "0 2 * * *"
    assert written(read("T+1", glossary).when) == "30 3 * * *"
    assert written(read("nightly", glossary).when) == "0 1 * * *"
    assert written(read("月末", glossary).when) == f"{LAST_DAY};BYHOUR=18;BYMINUTE=0;BYSECOND=0"
    assert written(read("工作日收盘后", glossary).when) == "30 15 * * 1-5"
    assert read("每天凌晨", glossary).notes == ("'凌晨' is read as 02:00",)
    assert written(read("每天凌晨4点", glossary).when) == "0 4 * * *", "a clock time in the text counts more"


def test_working_days_come_with_a_note_about_holidays(glossary: Glossary) -> None:
    assert "holidays" in read("工作日18:00", glossary).notes[0]


def test_words_about_the_data_are_not_about_the_time(glossary: Glossary) -> None:
    assert read("archive clicks older than 90 days", glossary).when is None
    assert written(read("每天9点同步昨天的订单", glossary).when) == "0 9 * * *"
