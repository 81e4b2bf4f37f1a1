"""Any phrase or cron is refused, or fires exactly at the minutes that an oracle enumerates with zoneinfo alone.

The generators write a phrase and, apart from the code under test, say what it means: which days, which minutes of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kickwheel.intent.cron_text import CronRefused, read_cron, write_cron
from kickwheel.intent.fire_times import fire_times
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.schedule_writing import write_schedule
from kickwheel.intent.time_reading import read_time, time_tokens
from kickwheel.intent.time_refused import TimeRefused
from schemas.task import Schedule

ZONES = ("UTC", "Asia/Shanghai", "Asia/Kolkata", "Europe/Berlin", "America/New_York")
STARTS = (date(2026, 3, 1), date(2026, 3, 25), date(2026, 10, 20), date(2026, 12, 20), date(2028, 2, 20), date(2027, 6, 28))
"""Around both changes of both daylight saving zones, a new year, a leap day and the end of a quarter."""
GLOSSARY = load_glossary()
DAYS = 9


@dataclass(frozen=True)
class Meant:
    """A phrase and what it means."""

    phrase: str
    on: Callable[[date], bool]
    minutes: frozenset[int]


def enumerated(meant: Meant, zone: str, first: date) -> list[datetime]:
    """Instants from midnight of ``first`` to midnight ``DAYS`` days later, UTC."""
    tz = ZoneInfo(zone)
    start, end = (datetime(d.year, d.month, d.day, tzinfo=tz).astimezone(UTC) for d in (first, first + timedelta(days=DAYS)))
    walls = (
        datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=tz)
        for day in (first + timedelta(days=offset) for offset in range(-1, DAYS + 1))
        if meant.on(day)
        for minute in meant.minutes
    )
    return sorted({wall.astimezone(UTC) for wall in walls if start <= wall.astimezone(UTC) < end})


def fired(schedule: Schedule, zone: str, first: date, expected: int) -> list[datetime]:
    tz = ZoneInfo(zone)
    start, end = (datetime(d.year, d.month, d.day, tzinfo=tz).astimezone(UTC) for d in (first, first + timedelta(days=DAYS)))
    fires = [fire.at.astimezone(UTC) for fire in fire_times(schedule, start, expected + 2)]
    assert fires == sorted(set(fires))
    return [fire for fire in fires if fire < end]


def cron_weekday(day: date) -> int:
    return day.isoweekday() % 7


def last_of(day: date) -> bool:
    return (day + timedelta(days=1)).month != day.month


def nth_of(day: date, nth: int, weekdays: set[int]) -> bool:
    """By counting the month's days, one by one."""
    month = [date(day.year, day.month, number) for number in range(1, 32) if _exists(day.year, day.month, number)]
    fitting = [other for other in month if cron_weekday(other) in weekdays]
    index = nth - 1 if nth > 0 else nth
    return -len(fitting) <= index < len(fitting) and fitting[index] == day


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


ZH_DAYS, EN_DAYS = "日一二三四五六", ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
ZH_TENS = ("", "十", "二十", "三十", "四十", "五十")


def zh_number(value: int) -> str:
    if value < 10:
        return "零一二三四五六七八九"[value]
    return ZH_TENS[value // 10] + ("一二三四五六七八九"[value % 10 - 1] if value % 10 else "")


def nth_text(number: int) -> str:
    """1st, 22nd, 13th."""
    return f"{number}{'th' if 10 < number < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


@st.composite
def zh_clock(draw: st.DrawFn) -> tuple[str, int]:
    hour, minute = draw(st.integers(0, 23)), draw(st.sampled_from([0, 0, 5, 15, 30, 45, 59]))
    style = draw(st.sampled_from(["colon", "digits", "words", "part"]))
    if style == "colon":
        return f"{hour}:{minute:02d}", hour * 60 + minute
    tail = (
        "" if minute == 0 else draw(st.sampled_from(["半"] if minute == 30 else ["一刻"] if minute == 15 else [f"{minute}分"]))
    )
    if style == "digits":
        return f"{hour}点{tail}", hour * 60 + minute
    if style == "words":
        words = (
            ""
            if minute == 0
            else "半"
            if minute == 30
            else f"{zh_number(minute)}分"
            if minute >= 10
            else f"零{zh_number(minute)}分"
        )
        return f"{zh_number(hour)}点{words}", hour * 60 + minute
    part, low, high = draw(
        st.sampled_from([("凌晨", 0, 5), ("早上", 6, 9), ("上午", 8, 11), ("下午", 13, 17), ("傍晚", 17, 19), ("晚上", 18, 23)])
    )
    hour = draw(st.integers(low, high))
    return f"{part}{hour if hour <= 12 else hour - 12}点{tail}", hour * 60 + minute


@st.composite
def en_clock(draw: st.DrawFn) -> tuple[str, int]:
    hour, minute = draw(st.integers(0, 23)), draw(st.sampled_from([0, 0, 5, 15, 30, 45, 59]))
    half, shown = "am" if hour < 12 else "pm", hour % 12 or 12
    texts = [f"at {hour:02d}:{minute:02d}", f"at {shown}:{minute:02d} {half}", f"{shown}:{minute:02d}{half}"]
    texts += [f"at {shown}{half}", f"at {shown} {half[0]}.m.", f"at {hour}"] if minute == 0 else []
    return draw(st.sampled_from(texts)), hour * 60 + minute


@st.composite
def zh_phrases(draw: st.DrawFn) -> Meant:
    clock, minute = draw(zh_clock())
    days = draw(st.sets(st.integers(0, 6), min_size=1, max_size=4))
    month_days = draw(st.sets(st.integers(1, 28), min_size=1, max_size=3))
    nth, weekday = draw(st.sampled_from([1, 2, 3, 4, -1])), draw(st.integers(0, 6))
    listed = "".join(ZH_DAYS[day] for day in sorted(days, key=lambda day: day or 7))
    ordinal = "最后一个" if nth == -1 else f"第{zh_number(nth)}个"
    workday, back = draw(st.integers(1, 20)), draw(st.integers(1, 9))
    third, months = draw(st.integers(1, 3)), draw(st.sets(st.integers(1, 12), min_size=2, max_size=4))
    weekly = "、".join(f"周{day}" for day in listed)
    works = set(range(1, 6))
    return draw(
        st.sampled_from(
            [
                Meant(f"每天{clock}", lambda _day: True, frozenset({minute})),
                Meant(f"每日{clock}", lambda _day: True, frozenset({minute})),
                Meant(f"工作日{clock}", lambda day: cron_weekday(day) in range(1, 6), frozenset({minute})),
                Meant(f"每周{listed}{clock}", lambda day: cron_weekday(day) in days, frozenset({minute})),
                Meant(f"每周{'、'.join(listed)}的{clock}", lambda day: cron_weekday(day) in days, frozenset({minute})),
                Meant(
                    f"每月{'、'.join(f'{number}号' for number in sorted(month_days))}{clock}",
                    lambda day: day.day in month_days,
                    frozenset({minute}),
                ),
                Meant(f"月末{clock}", last_of, frozenset({minute})),
                Meant(f"每季度首日{clock}", lambda day: day.day == 1 and day.month % 3 == 1, frozenset({minute})),
                Meant(f"每季度末{clock}", lambda day: last_of(day) and day.month % 3 == 0, frozenset({minute})),
                Meant(
                    f"每月{ordinal}周{ZH_DAYS[weekday]}{clock}", lambda day: nth_of(day, nth, {weekday}), frozenset({minute})
                ),
                Meant(f"每月最后一个工作日{clock}", lambda day: nth_of(day, -1, works), frozenset({minute})),
                Meant(f"每周{len(days)}次，{weekly}的{clock}", lambda day: cron_weekday(day) in days, frozenset({minute})),
                Meant(f"每周的{weekly}，{clock}", lambda day: cron_weekday(day) in days, frozenset({minute})),
                Meant(f"每月第{workday}个工作日{clock}", lambda day: nth_of(day, workday, works), frozenset({minute})),
                Meant(
                    f"每月倒数第{zh_number(back)}个工作日{clock}", lambda day: nth_of(day, -back, works), frozenset({minute})
                ),
                Meant(
                    f"季末最后一个工作日{clock}",
                    lambda day: day.month % 3 == 0 and nth_of(day, -1, works),
                    frozenset({minute}),
                ),
                Meant(
                    f"每季度首个周{ZH_DAYS[weekday]}{clock}",
                    lambda day: day.month % 3 == 1 and nth_of(day, 1, {weekday}),
                    frozenset({minute}),
                ),
                Meant(
                    f"每季度第{zh_number(third)}个月的{min(month_days)}号{clock}",
                    lambda day: (day.month - 1) % 3 == third - 1 and day.day == min(month_days),
                    frozenset({minute}),
                ),
                Meant(
                    f"每年{'、'.join(f'{month}月' for month in sorted(months))}的{min(month_days)}号{clock}",
                    lambda day: day.month in months and day.day == min(month_days),
                    frozenset({minute}),
                ),
                Meant("每天午夜12点", lambda _day: True, frozenset({0})),
                Meant(
                    f"每季度第{zh_number(third)}个月的{ordinal}周{ZH_DAYS[weekday]}{clock}",
                    lambda day: (day.month - 1) % 3 == third - 1 and nth_of(day, nth, {weekday}),
                    frozenset({minute}),
                ),
                Meant(
                    f"每月{max(month_days)}日和月末{clock}",
                    lambda day: last_of(day) or day.day == max(month_days),
                    frozenset({minute}),
                ),
                Meant(
                    f"{'和'.join(f'{month}月' for month in sorted(months))}的{min(month_days)}号{clock}",
                    lambda day: day.month in months and day.day == min(month_days),
                    frozenset({minute}),
                ),
            ]
        )
    )


@st.composite
def en_phrases(draw: st.DrawFn) -> Meant:
    clock, minute = draw(en_clock())
    days = draw(st.sets(st.integers(0, 6), min_size=1, max_size=4))
    nth, weekday = draw(st.sampled_from([1, 2, 3, 4, -1])), draw(st.integers(0, 6))
    ordinal = {1: "first", 2: "second", 3: "third", 4: "fourth", -1: "last"}[nth]
    number = draw(st.integers(1, 31))
    listed = ", ".join(EN_DAYS[day] for day in sorted(days))
    anded = " and ".join(f"on {EN_DAYS[day]}" for day in sorted(days))
    count = {1: "once", 2: "twice", 3: "three times", 4: "four times"}[len(days)]
    other, workday = draw(st.integers(1, 31).filter(lambda value: value != number)), draw(st.integers(1, 20))
    months = draw(st.sets(st.integers(1, 12), min_size=2, max_size=3))
    named = " and ".join(MONTH_NAMES[month - 1] for month in sorted(months))
    works = set(range(1, 6))
    past, hour = draw(st.integers(1, 59)), draw(st.integers(1, 11))
    return draw(
        st.sampled_from(
            [
                Meant(f"every day {clock}", lambda _day: True, frozenset({minute})),
                Meant(f"daily {clock}", lambda _day: True, frozenset({minute})),
                Meant(f"every weekday {clock}", lambda day: cron_weekday(day) in range(1, 6), frozenset({minute})),
                Meant(f"on weekends {clock}", lambda day: cron_weekday(day) in (0, 6), frozenset({minute})),
                Meant(f"every {listed} {clock}", lambda day: cron_weekday(day) in days, frozenset({minute})),
                Meant(f"on the {nth_text(number)} of each month {clock}", lambda day: day.day == number, frozenset({minute})),
                Meant(f"on the last day of the month {clock}", last_of, frozenset({minute})),
                Meant(f"weekly {anded} {clock}", lambda day: cron_weekday(day) in days, frozenset({minute})),
                Meant(f"{count} a week, {anded}, {clock}", lambda day: cron_weekday(day) in days, frozenset({minute})),
                Meant(
                    f"on the {nth_text(number)} and {nth_text(other)} {clock}",
                    lambda day: day.day in (number, other),
                    frozenset({minute}),
                ),
                Meant(
                    f"on the {nth_text(workday)} business day of each month {clock}",
                    lambda day: nth_of(day, workday, works),
                    frozenset({minute}),
                ),
                Meant(
                    f"on the last working day of the quarter {clock}",
                    lambda day: day.month % 3 == 0 and nth_of(day, -1, works),
                    frozenset({minute}),
                ),
                Meant(
                    f"{ordinal} {EN_DAYS[weekday]} of every quarter {clock}",
                    lambda day: day.month % 3 == (0 if nth == -1 else 1) and nth_of(day, nth, {weekday}),
                    frozenset({minute}),
                ),
                Meant(
                    f"every year on the {nth_text(min(number, 28))} of {named} {clock}",
                    lambda day: day.month in months and day.day == min(number, 28),
                    frozenset({minute}),
                ),
                Meant(f"every day at {past} past {hour}", lambda _day: True, frozenset({hour * 60 + past})),
                Meant(f"every day at a quarter to {hour + 1}", lambda _day: True, frozenset({hour * 60 + 45})),
                Meant(
                    f"on the {nth_text(min(number, 28))} and on the last day of each month {clock}",
                    lambda day: last_of(day) or day.day == min(number, 28),
                    frozenset({minute}),
                ),
                Meant(
                    f"{ordinal} {EN_DAYS[weekday]} of the second month of each quarter {clock}",
                    lambda day: day.month % 3 == 2 and nth_of(day, nth, {weekday}),
                    frozenset({minute}),
                ),
                Meant(f"end of quarter {clock}", lambda day: last_of(day) and day.month % 3 == 0, frozenset({minute})),
                Meant(
                    f"{ordinal} {EN_DAYS[weekday]} of the month {clock}",
                    lambda day: nth_of(day, nth, {weekday}),
                    frozenset({minute}),
                ),
            ]
        )
    )


@st.composite
def interval_phrases(draw: st.DrawFn) -> Meant:
    step = draw(st.sampled_from([5, 6, 10, 12, 15, 20, 30]))
    hours = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12]))
    ninety = draw(st.sampled_from([40, 45, 48, 80, 90, 96, 144]))
    first = draw(st.integers(0, 12))
    last = draw(st.integers(first + 1, 23))
    past = draw(st.sets(st.integers(0, 59), min_size=2, max_size=3))
    spread = all(b - a >= 5 for a, b in pairwise([*sorted(past), min(past) + 60]))
    assume(spread)
    hourly = frozenset(hour * 60 + minute for hour in range(24) for minute in past)
    early, late = draw(st.integers(1, 11)), draw(st.integers(1, 11))
    half_day = frozenset(range(early * 60, (late + 12) * 60 + 1, step))
    every = lambda minutes: frozenset(range(0, 24 * 60, minutes))  # noqa: E731
    within = frozenset(range(first * 60, last * 60 + 1, step))
    return draw(
        st.sampled_from(
            [
                Meant(f"每隔{step}分钟", lambda _day: True, every(step)),
                Meant(f"every {step} minutes", lambda _day: True, every(step)),
                Meant(f"每{hours}小时", lambda _day: True, every(hours * 60)),
                Meant(f"every {hours} hours", lambda _day: True, every(hours * 60)),
                Meant(f"每{ninety}分钟", lambda _day: True, every(ninety)),
                Meant(f"every {ninety} minutes on weekdays", lambda day: cron_weekday(day) in range(1, 6), every(ninety)),
                Meant(f"每天{first}点到{last}点每{step}分钟", lambda _day: True, within),
                Meant(f"every {step} minutes from {first}:00 to {last}:00", lambda _day: True, within),
                Meant(f"every {step} minutes from {early}am until {late}pm", lambda _day: True, half_day),
                Meant(f"at {step}-minute intervals", lambda _day: True, every(step)),
                Meant(f"at {' and '.join(map(str, sorted(past)))} minutes past the hour", lambda _day: True, hourly),
                Meant(f"每小时的{'、'.join(f'第{minute}分' for minute in sorted(past))}钟", lambda _day: True, hourly),
            ]
        )
    )


def check(meant: Meant, zone: str, first: date) -> None:
    text = normalise(meant.phrase)
    try:
        reading = read_time(text, time_tokens(text, GLOSSARY), GLOSSARY)
        assert reading.when is not None, f"{meant.phrase!r} was not seen"
        schedule = write_schedule(reading.when, zone, min_interval_minutes=5)
    except TimeRefused:
        return
    expected = enumerated(meant, zone, first)
    assert fired(schedule, zone, first, len(expected)) == expected, f"{meant.phrase!r} became {schedule}"


@pytest.mark.parametrize("zone", ZONES)
@settings(max_examples=90, deadline=None, derandomize=True)
@given(meant=st.one_of(zh_phrases(), en_phrases()), first=st.sampled_from(STARTS))
def test_phrase_fires_exactly_when_the_oracle_says(zone: str, meant: Meant, first: date) -> None:
    check(meant, zone, first)


@pytest.mark.parametrize("zone", ZONES)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(meant=interval_phrases(), first=st.sampled_from(STARTS))
def test_interval_fires_exactly_when_the_oracle_says(zone: str, meant: Meant, first: date) -> None:
    check(meant, zone, first)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(meant=st.one_of(zh_phrases(), en_phrases(), interval_phrases()))
def test_phrases_of_the_generators_are_understood(meant: Meant) -> None:
    """Else 'refused or right' would hold for a reader that refuses everything. 每周日二十点 may mean two things."""
    assume(not re.search(r"周[日一二三四五六]+二?十", meant.phrase))
    text = normalise(meant.phrase)
    assert read_time(text, time_tokens(text, GLOSSARY), GLOSSARY).when is not None


@st.composite
def cron_fields(draw: st.DrawFn, first: int, last: int, names: tuple[str, ...] = ()) -> tuple[str, frozenset[int]]:
    """One field as written, and its values."""
    low = draw(st.integers(first, last - 1))
    high = draw(st.integers(low, last))
    step = draw(st.integers(2, 20))
    some = draw(st.sets(st.integers(first, last), min_size=1, max_size=4))
    named = [names[value - first] if names else str(value) for value in sorted(some)]
    return draw(
        st.sampled_from(
            [
                ("*", frozenset(range(first, last + 1))),
                (f"*/{step}", frozenset(range(first, last + 1, step))),
                (f"{low}-{high}", frozenset(range(low, high + 1))),
                (f"{low}-{high}/{step}", frozenset(range(low, high + 1, step))),
                (",".join(map(str, sorted(some, reverse=True))), frozenset(some)),
                (",".join(named), frozenset(some)),
            ]
        )
    )


WEEKDAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
CRON_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@pytest.mark.parametrize("zone", ZONES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    minute=cron_fields(0, 59),
    hour=cron_fields(0, 23),
    day=cron_fields(1, 31),
    month=cron_fields(1, 12, CRON_MONTHS),
    weekday=st.one_of(cron_fields(0, 6, WEEKDAY_NAMES), st.just(("7", frozenset({0}))), st.just(("5-7", frozenset({0, 5, 6})))),
    both=st.sampled_from(["day", "weekday", "neither"]),
    first=st.sampled_from(STARTS),
)
def test_cron_fires_exactly_when_the_oracle_says(
    zone: str,
    minute: tuple[str, frozenset[int]],
    hour: tuple[str, frozenset[int]],
    day: tuple[str, frozenset[int]],
    month: tuple[str, frozenset[int]],
    weekday: tuple[str, frozenset[int]],
    both: str,
    first: date,
) -> None:
    day = day if both == "day" else ("*", frozenset(range(1, 32)))
    weekday = weekday if both == "weekday" else ("*", frozenset(range(7)))
    text = " ".join(field for field, _ in (minute, hour, day, month, weekday))
    recurrence = read_cron(text)
    canonical = write_cron(recurrence)
    assert canonical is not None
    assert write_cron(read_cron(canonical)) == canonical, "the canonical form is its own canonical form"
    try:
        schedule = write_schedule(recurrence, zone, min_interval_minutes=1)
    except TimeRefused:
        assert not any(_exists(2028, m, d) for m in month[1] for d in day[1])
        return
    minutes = frozenset(h * 60 + m for h in hour[1] for m in minute[1])
    meant = Meant(text, lambda d: d.day in day[1] and d.month in month[1] and cron_weekday(d) in weekday[1], minutes)
    expected = enumerated(meant, zone, first)
    assume(len(expected) < 3000)
    assert fired(schedule, zone, first, len(expected)) == expected, f"{text!r} became {schedule}"


@settings(derandomize=True)
@given(day=st.integers(1, 28), weekday=st.integers(0, 6))
def test_cron_that_sets_both_day_fields_is_refused(day: int, weekday: int) -> None:
    """Prefect ORs the day fields: '1-7 * 1' is no first Monday."""
    with pytest.raises(CronRefused, match="both"):
        read_cron(f"0 9 {day} * {weekday}")
