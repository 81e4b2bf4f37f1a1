"""How English says when: days; clock times stand in time_clock_en.py, intervals in time_intervals_en.py."""

from __future__ import annotations

import re

from kickwheel.intent.recurrence import ALL_MONTHS, EVERY_DAY, QUARTER_ENDS, QUARTER_STARTS, WORKWEEK
from kickwheel.intent.time_clock_en import CLOCK_EN
from kickwheel.intent.time_intervals_en import INTERVALS_EN, MANY, SEP, if_counted
from kickwheel.intent.time_tokens import (
    WORKDAY_NOTE,
    Entry,
    Meaning,
    MonthDays,
    NthOfMonth,
    Unclear,
    WeekDays,
    entry,
    year_days,
)

_DAY_NAMES = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
DAY_NAME = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:s|nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)s?\b\.?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_NAME = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "fifteenth": 15, "twentieth": 20, "last": -1, "final": -1, "penultimate": -2, "second-to-last": -2,
}  # fmt: skip
_COUNTED = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})"
_NTH = rf"(?P<nth>{_COUNTED})"
_DATE = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(word for word, nth in _ORDINALS.items() if nth > 0)})"
_SHORTEST_MONTH = 28
_FIGURE = r"\d{1,2}(?:st|nd|rd|th)"
_TO = r"\s*(?:-|to\b|through\b|thru\b|till\b|until\b)\s*"
_DATES = rf"(?P<days>{_DATE}(?:(?:{SEP}|{_TO})(?:on\s+)?(?:the\s+)?{_DATE})*)"
_EVERY = r"(?:the|each|every|a|any)"
_OF = rf"(?:\s+(?:day\s+)?(?:of|in)\s+(?:{_EVERY}\s+)?(?:calendar\s+)?"
_OF_MONTH = rf"{_OF}month\b|\s+(?:every|each)\s+month\b|\s+monthly\b)"
_SPAN = r"month|quarter|year"
_OF_SPAN = rf"{_OF}(?P<span>{_SPAN})\b|\s+(?:every|each)\s+(?P<span2>{_SPAN})\b|\s+(?P<span3>{_SPAN})ly\b)"
_ONLY_SPAN = r"(?P<span2>(?!))?(?P<span3>(?!))?"
_EACH = r"(?:(?:(?:every|each)\s+month|monthly)\s*,?\s*)?(?:(?:every|each|on\s+(?:the|each|every)|on|the)\s+)?"
_WORKDAY = r"(?:weekday|work(?:ing)?[\s-]?day|business\s+day)"
_DAYS = rf"{DAY_NAME}(?:{SEP}(?:(?:on|every|each)\s+)?{DAY_NAME})*"
_SPANS = {
    "month": (ALL_MONTHS, ALL_MONTHS),
    "quarter": (QUARTER_STARTS, QUARTER_ENDS),
    "year": (frozenset({1}), frozenset({12})),
}
"""Months of a span's first days, and of its last ones."""


def _days_in(text: str) -> list[int]:
    return [_DAY_NAMES[name[:3].lower()] for name in re.findall(DAY_NAME, text, re.IGNORECASE | re.ASCII)]


def _week_range(match: re.Match[str]) -> Meaning:
    first, last = _days_in(match.group())
    return WeekDays(frozenset((first + step) % 7 for step in range((last - first) % 7 + 1)))


def _week_days(match: re.Match[str]) -> Meaning:
    days = frozenset(_days_in(match["days"]))
    plural = bool(re.search(r"days\b", match["days"], re.IGNORECASE | re.ASCII))
    return WeekDays(days, recurring=bool(match["every"]) or plural or len(days) > 1)


def _counted_week(match: re.Match[str]) -> Meaning:
    """'Weekly on Monday', 'twice a week, on Monday and Thursday'."""
    days = frozenset(_days_in(match["days"]))
    return if_counted(match, WeekDays(days), len(days))


def _ordinal(word: str) -> int:
    return int(re.sub(r"\D", "", word)) if word[0].isdecimal() else _ORDINALS[word.lower()]


def _dates(text: str) -> set[int]:
    """Days of a list of dates with ranges in it; a range that runs backwards has none."""
    days: set[int] = set()
    for part in re.split(SEP, text, flags=re.IGNORECASE):
        ends = [_ordinal(end) for end in re.findall(_DATE, part, re.IGNORECASE)]
        days.update(range(ends[0], ends[-1] + 1) if ends else ())
    return days


def _month_days(match: re.Match[str]) -> Meaning:
    days = _dates(match["days"])
    if not days or not all(1 <= day <= 31 for day in days):
        return Unclear("Which days of the month? They go from 1 to 31.")
    counted = "count" in match.re.groupindex
    meaning = MonthDays(frozenset(days), ALL_MONTHS)
    return if_counted(match, meaning, len(days)) if counted else meaning


def _days_and_last(match: re.Match[str]) -> Meaning:
    """'On the 15th and the last day of each month'."""
    days = _dates(match["days"])
    ok = bool(days) and all(1 <= day <= 31 for day in days)
    return MonthDays(frozenset({*days, -1}), ALL_MONTHS) if ok else Unclear("Which days of the month? They go from 1 to 31.")


def _plain_days(match: re.Match[str]) -> Meaning:
    days = {int(day) for day in re.findall(r"\d+", match["days"])}
    ok = all(1 <= day <= 31 for day in days)
    return MonthDays(frozenset(days), ALL_MONTHS) if ok else Unclear("Which days of the month? They go from 1 to 31.")


def _year_day(match: re.Match[str]) -> Meaning:
    dates: list[tuple[int, int]] = []
    for month, day, day2, month2 in re.findall(
        rf"({MONTH_NAME})\s+(?:the\s+)?(\d{{1,2}})(?!\d)|(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({MONTH_NAME})",
        match["dates"],
        re.IGNORECASE | re.ASCII,
    ):
        dates.append((_month(month or month2), int(day or day2)))
    return year_days(dates)


def _day_of_months(match: re.Match[str]) -> Meaning:
    """'On the 1st of January and July'."""
    months = re.findall(MONTH_NAME, match["months"], re.IGNORECASE | re.ASCII)
    return year_days([(_month(month), _ordinal(match["day"])) for month in months])


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _span(match: re.Match[str]) -> str:
    return str(match["span"] or match["span2"] or match["span3"]).lower()


def _nth_of(match: re.Match[str]) -> Meaning:
    """'First Monday of the month', 'last Friday of every quarter'; a fifth Monday is not in every month."""
    nth = _ordinal(match["nth"])
    if abs(nth) > 4 or nth == 0:
        return Unclear("Not every month has such a day: which one is meant?")
    first, last = _SPANS[_span(match)]
    return NthOfMonth(nth, frozenset(_days_in(match["day"])), months=first if nth > 0 else last)


def _nth_workday(match: re.Match[str]) -> Meaning:
    nth = _ordinal(match["nth"])
    if not 1 <= abs(nth) <= 20:
        return Unclear("Which working day? Every month has twenty of them.")
    first, last = _SPANS[_span(match)]
    return NthOfMonth(nth, WORKWEEK, WORKDAY_NOTE, first if nth > 0 else last)


def _nth_in_quarter(match: re.Match[str]) -> Meaning:
    """'First Wednesday of the first month of each quarter'."""
    nth, month = _ordinal(match["nth"]), _ordinal(match["month"])
    if nth == 0 or abs(nth) > (4 if match["day"] else 20):
        return Unclear("Not every month has such a day: which one is meant?")
    months = frozenset(start + (month - 1) % 3 if month > 0 else start + 2 for start in QUARTER_STARTS)
    if match["day"]:
        return NthOfMonth(nth, frozenset(_days_in(match["day"])), months=months)
    return NthOfMonth(nth, WORKWEEK, WORKDAY_NOTE, months)


def _end_day(match: re.Match[str]) -> Meaning | None:
    """'First day of the quarter', 'last day of each month'."""
    nth = _ordinal(match["nth"])
    if nth > 1:
        return MonthDays(frozenset({nth}), _SPANS[_span(match)][0]) if nth <= _SHORTEST_MONTH else None
    if abs(nth) != 1:
        return None if nth == 0 else MonthDays(frozenset({nth}), _SPANS[_span(match)][1])
    first, last = _SPANS[_span(match)]
    return MonthDays(frozenset({nth}), first if nth > 0 else last)


EN: tuple[Entry, ...] = (
    *CLOCK_EN,
    # days of the week
    entry(
        r"\b(?:(?:every|each|each\s+and\s+every)\s+(?:single\s+)?day(?:\s+of\s+the\s+week)?|everyday|daily|(?:every|each)(?=\s+(?:morning|afternoon|evening|night)\b))",
        WeekDays(EVERY_DAY),
    ),
    entry(r"\b(?:per\s+day|seven\s+days\s+a\s+week|7\s+days\s+a\s+week|on\s+all\s+days|all\s+days)\b", WeekDays(EVERY_DAY)),
    entry(
        rf"\b(?:(?:every|each|on(?:\s+(?:all|every|each))?)\s+)?{_WORKDAY}s?\b(?:\s*\(?mon(?:day)?\s*(?:-|to)\s*fri(?:day)?\)?)?",
        WeekDays(WORKWEEK, note=WORKDAY_NOTE),
    ),
    entry(r"\b(?:(?:every|each|on|at)\s+)?(?:the\s+)?weekends?\b", WeekDays(frozenset({0, 6}))),
    entry(rf"\b(?:(?:every|each|on|from)\s+)?{DAY_NAME}{_TO}{DAY_NAME}", _week_range),
    entry(rf"\b(?P<every>(?:every|each)\s+)?(?:on\s+)?(?P<days>{_DAYS})", _week_days),
    entry(rf"\b(?P<every>(?:every|each)\s+)(?P<days>{DAY_NAME})\s+of\s+(?:the|every|each)\s+(?:week|month|year)\b", _week_days),
    entry(
        rf"\b(?:(?P<count>{MANY})\s+(?:a|per|each|every)\s+week|weekly|(?:every|each)\s+week)\s*[,:(]?\s*(?:(?:on|every|each)\s+)?(?:a\s+)?(?P<days>{_DAYS})",
        _counted_week,
    ),
    # days of the month
    entry(rf"\b{_EACH}(?:the\s+)?(?<!\d-){_DATES}(?:{_OF_MONTH})", _month_days),
    entry(
        rf"\b(?:(?P<count>{MANY})\s+(?:a|per|each|every)\s+month|monthly|(?:every|each)\s+month)\s*[,:(]?\s*(?:on\s+)?(?:the\s+)?(?:day\s+)?{_DATES}(?!\s+(?:{DAY_NAME}|{_WORKDAY}|day))",
        _month_days,
    ),
    entry(
        rf"\b(?:every|each)\s+(?P<days>{_FIGURE}(?:(?:{SEP}|{_TO})(?:the\s+)?{_FIGURE})*)(?!\s+(?:days?|hour|week|month|quarter|year|minute|{DAY_NAME}|{_WORKDAY}|{MONTH_NAME}|of\b))",
        _month_days,
    ),
    entry(
        rf"\bon\s+the\s+(?P<days>\d{{1,2}}(?:st|nd|rd|th)(?:{SEP}(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th))+)(?!\s+(?:{DAY_NAME}|{_WORKDAY}|day|{MONTH_NAME}|of\b))",
        _month_days,
    ),
    entry(
        rf"\b(?:monthly|(?:every|each)\s+month)\s*,?\s*(?:on\s+)?days?\s+(?P<days>\d{{1,2}}(?:{SEP}\d{{1,2}})*)(?![\d:]|\s*(?:[ap]\.?m\b))",
        _plain_days,
    ),
    entry(rf"\b(?:on\s+)?days?\s+(?P<days>\d{{1,2}}(?:{SEP}\d{{1,2}})*)(?:{_OF_MONTH})", _plain_days),
    entry(rf"\b{_EACH}{_NTH}\s+(?P<day>{DAY_NAME})(?:{_OF_SPAN})", _nth_of),
    entry(
        rf"\b(?P<span>month)ly\s*,?\s*(?:on\s+)?(?:the\s+)?{_NTH}\s+(?P<day>{DAY_NAME}){_ONLY_SPAN}",
        _nth_of,
    ),
    entry(
        rf"\b(?:every|each)\s+(?P<span>month|quarter)\s*,?\s*(?:on\s+)?(?:the\s+)?{_NTH}\s+(?P<day>{DAY_NAME}){_ONLY_SPAN}",
        _nth_of,
    ),
    entry(rf"\b{_EACH}{_NTH}\s+{_WORKDAY}(?:{_OF_SPAN})", _nth_workday),
    entry(
        rf"\b(?P<span>quarter|month)ly\s*,?\s*(?:on\s+)?(?:the\s+)?{_NTH}\s+{_WORKDAY}\b{_ONLY_SPAN}(?!\s+(?:of|in)\b)",
        _nth_workday,
    ),
    entry(
        rf"\b(?:every|each)\s+(?P<span>month|quarter)\s*,?\s*(?:on\s+)?(?:the\s+)?{_NTH}\s+{_WORKDAY}\b{_ONLY_SPAN}(?!\s+(?:of|in)\b)",
        _nth_workday,
    ),
    entry(rf"\b{_EACH}{_NTH}\s+(?:calendar\s+)?day(?:{_OF_SPAN})", _end_day),
    entry(
        rf"\b(?:every|each)\s+(?P<span>{_SPAN})\s*,?\s*(?:on\s+)?the\s+{_NTH}\s+(?:calendar\s+)?day\b{_ONLY_SPAN}(?!\s+of\b)",
        _end_day,
    ),
    entry(
        rf"\b(?P<span>quarter|month)ly\s*,?\s*(?:on\s+)?(?:the\s+)?{_NTH}\s+(?:calendar\s+)?day\b{_ONLY_SPAN}(?!\s+of\b)",
        _end_day,
    ),
    entry(
        r"\b(?:(?:at|on)\s+)?(?:the\s+)?(?:end\s+of\s+(?:the\s+|each\s+|every\s+)?month|(?:each\s+|every\s+)?month[\s-]?end|EOM)\b",
        MonthDays(frozenset({-1}), ALL_MONTHS),
    ),
    entry(
        r"\b(?:(?:at|on)\s+)?(?:the\s+)?(?:end\s+of\s+(?:the\s+|each\s+|every\s+)?quarter|(?:each\s+|every\s+)?quarter[\s-]?end)\b",
        MonthDays(frozenset({-1}), QUARTER_ENDS),
    ),
    entry(
        r"\b(?:(?:at|on)\s+)?(?:the\s+)?(?:end\s+of\s+(?:the\s+|each\s+|every\s+)?year|(?:each\s+|every\s+)?year[\s-]?end)\b",
        MonthDays(frozenset({-1}), frozenset({12})),
    ),
    # days of the year
    *(
        entry(pattern, _year_day)
        for date in (
            rf"(?:{MONTH_NAME}\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)|(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH_NAME})",
        )
        for pattern in (
            rf"\b(?:(?:every|each|once\s+(?:a|per|every))\s+(?:year\s*,?\s*)?(?:on\s+)?|(?:yearly|annually)\s*,?\s*(?:on\s+)?)(?:the\s+)?(?P<dates>{date}(?:{SEP}(?:on\s+)?{date})*)",
            rf"\b(?:on\s+)?(?P<dates>{date}(?:{SEP}(?:on\s+)?{date})*)\s*,?\s*(?:(?:of\s+)?(?:every|each)\s+year|annually|yearly)\b",
            # 'on 15 January and 15 July at 10:00 each year': what stands at the end is a token of its own
            rf"\b(?:on\s+)?(?:the\s+)?(?P<dates>{date}(?:{SEP}(?:on\s+)?{date})*)"
            r"(?=\s*,?\s*(?:at\s+)?\d{1,2}(?::\d{2})?\s*(?:[ap]\.?m\.?)?\s*,?\s*(?:(?:every|each)\s+year|annually|yearly)\b)",
        )
    ),
    entry(
        rf"\b(?:(?:every|each)\s+year|yearly|annually)\s*,?\s*(?:on\s+)?(?:the\s+)?(?P<day>{_DATE})\s+(?:of\s+)?(?P<months>{MONTH_NAME}(?:{SEP}{MONTH_NAME})+)",
        _day_of_months,
    ),
    entry(
        rf"\b(?:on\s+)?(?:the\s+)?(?P<day>{_DATE})\s+(?:of\s+)?(?P<months>{MONTH_NAME}(?:{SEP}{MONTH_NAME})+)\s*,?\s*(?:(?:every|each)\s+year|yearly|annually)\b",
        _day_of_months,
    ),
    entry(
        rf"\b{_EACH}(?:the\s+)?(?P<days>{_DATE}(?:{SEP}(?:on\s+)?(?:the\s+)?{_DATE})*){SEP}(?:on\s+)?(?:the\s+)?last\s+day(?:{_OF_MONTH})",
        _days_and_last,
    ),
    entry(
        rf"\b(?:in|every|each)\s+(?P<months>{MONTH_NAME}(?:{SEP}{MONTH_NAME})+)\s*,?\s*(?:on\s+)?(?:the\s+)?(?P<day>{_DATE})\b(?!\s+(?:{DAY_NAME}|{_WORKDAY}|day))",
        _day_of_months,
    ),
    entry(
        rf"\b{_EACH}{_NTH}\s+(?:(?P<day>{DAY_NAME})|{_WORKDAY})\s+(?:of|in)\s+(?:the\s+)?(?P<month>first|second|third|last)\s+month\s+(?:of|in)\s+(?:{_EVERY}\s+)?quarter\b",
        _nth_in_quarter,
    ),
    *INTERVALS_EN,
)
