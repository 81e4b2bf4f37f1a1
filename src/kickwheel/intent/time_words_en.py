"""How English says when."""

from __future__ import annotations

import re

from kickwheel.intent.recurrence import ALL_MONTHS, EVERY_DAY, WORKWEEK
from kickwheel.intent.time_tokens import (
    Between,
    Clock,
    Clocks,
    Entry,
    Every,
    Meaning,
    MonthDays,
    NthOfMonth,
    PartOfDay,
    PerDay,
    Unclear,
    WeekDays,
    entry,
)

WORKDAY_NOTE = "working days are read as Monday to Friday; public holidays are not left out"
QUARTER_STARTS, QUARTER_ENDS = frozenset({1, 4, 7, 10}), frozenset({3, 6, 9, 12})

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: value for value, word in enumerate(_WORDS)} | {
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45, "sixty": 60, "ninety": 90,
    "a": 1, "an": 1, "other": 2,
    "second": 2, "third": 3, "fourth": 4, "once": 1, "twice": 2,
}  # fmt: skip
NUMBER = rf"(?:\d+|{'|'.join(_WORDS[1:])}|fifteen|twenty|thirty|forty-five|forty|sixty|ninety)"
_DAY_NAMES = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
DAY_NAME = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:s|nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)s?\b\.?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_NAME = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_AMPM = r"(?P<half>[ap])\.?\s?m\b\.?"
_DATE = r"\d{1,2}(?:st|nd|rd|th)"
_SEP = r"\s*(?:,\s*and\b|,|and\b|&|/|\+)\s*"
_TO = r"\s*(?:-|to\b|through\b|thru\b|till\b|until\b)\s*"
_OF_MONTH = r"(?:\s+(?:day\s+)?(?:of|in)\s+(?:the|each|every|a)\s+(?:calendar\s+)?month|\s+(?:every|each)\s+month|\s+monthly)"
_NTH = r"(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th)"
_EACH = r"(?:every|each|on\s+(?:the|each|every)|on|the)\s+"

IMPOSSIBLE_HOUR = 99
"""13pm: refused when the times are settled."""


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text.lower()]


def _clock(match: re.Match[str]) -> Meaning:
    return Clocks((_with_half(int(match["h"]), int(match["m"] or 0), match["half"]),))


def _with_half(hour: int, minute: int, half: str | None) -> Clock:
    if half is None:
        return Clock(hour, minute)
    half = f"{half.lower()}m"
    if not 1 <= hour <= 12:
        return Clock(IMPOSSIBLE_HOUR, minute, half)
    return Clock(hour % 12 + (12 if half == "pm" else 0), minute, half)


def _bare_list(match: re.Match[str]) -> Meaning:
    times = [part.replace(".", ":").partition(":") for part in re.findall(r"\d{1,2}(?:[:.]\d{2})?", match["times"])]
    return Clocks(tuple(Clock(int(hour), int(minute or 0)) for hour, _, minute in times))


def _worded(match: re.Match[str]) -> Meaning:
    return Clocks((_with_half(_number(match["h"]), _number(match["m"]) if match["m"] else 0, match["half"]),))


def _spoken(match: re.Match[str]) -> Meaning:
    hour = _number(match["h"])
    past = {"half": 30, "quarter": 15}[match["part"].lower()]
    clock = Clock(hour, past) if match["side"].lower() == "past" else Clock(hour - 1, 60 - past)
    return Clocks((_with_half(clock.hour, clock.minute, match["half"]),))


def _between(match: re.Match[str]) -> Meaning:
    return Between(Clock(int(match["h1"]), int(match["m1"] or 0)), Clock(int(match["h2"]), int(match["m2"] or 0)))


def _days_in(text: str) -> list[int]:
    return [_DAY_NAMES[name[:3].lower()] for name in re.findall(DAY_NAME, text, re.IGNORECASE | re.ASCII)]


def _week_range(match: re.Match[str]) -> Meaning:
    first, last = _days_in(match.group())
    return WeekDays(frozenset((first + step) % 7 for step in range((last - first) % 7 + 1)))


def _week_days(match: re.Match[str]) -> Meaning:
    days = frozenset(_days_in(match["days"]))
    plural = bool(re.search(r"days\b", match["days"], re.IGNORECASE | re.ASCII))
    return WeekDays(days, recurring=bool(match["every"]) or plural or len(days) > 1)


def _month_days(match: re.Match[str]) -> Meaning:
    days = frozenset(int(day) for day in re.findall(r"\d+", match["days"]))
    if not all(1 <= day <= 31 for day in days):
        return Unclear("Which days of the month? They go from 1 to 31.")
    return MonthDays(days, ALL_MONTHS)


def _year_day(match: re.Match[str]) -> Meaning:
    month = _MONTHS.index((match["month"] or match["month2"])[:3].lower()) + 1
    day = int(re.sub(r"\D", "", match["day"] or match["day2"]))
    return MonthDays(frozenset({day}), frozenset({month})) if 1 <= day <= 31 else Unclear("Which day of the month?")


def _nth(match: re.Match[str]) -> int:
    word = match["nth"].lower()
    return -1 if word == "last" else int(word[0]) if word[0].isdecimal() else 1 if word == "first" else _NUMBERS[word]


def _every(match: re.Match[str]) -> Meaning:
    unit = 60 if match["unit"].lower().startswith("h") else 1
    if match["decimal"]:
        amount = float(match["decimal"]) * unit
        return Every(int(amount)) if amount == int(amount) else Unclear("How many whole minutes apart?")
    return Every((_number(match["n"]) if match["n"] else 1) * unit)


EN: tuple[Entry, ...] = (
    # clock times
    entry(rf"(?<![\d:.])(?P<h>\d{{1,2}})(?:[:.h](?P<m>[0-5]\d))?\s*{_AMPM}", _clock),
    entry(r"(?<![\d:.])(?P<h>\d{1,2}):(?P<m>[0-5]\d)(?::00)?(?![\d:])(?P<half>(?!))?", _clock),
    entry(r"(?<![\d:.])(?P<h>[0-2]\d)(?P<m>[0-5]\d)\s*(?:hrs|hours)\b(?P<half>(?!))?", _clock),
    entry(r"(?<![\d:.])(?P<h>\d{1,2})h(?P<m>[0-5]\d)?\b(?P<half>(?!))?", _clock),
    entry(
        r"\bat\s+(?P<times>\d{1,2}(?:[:.]\d{2})?(?:(?:\s*,\s*and\s+|\s*,\s*|\s+and\s+|\s*&\s*)\d{1,2}(?:[:.]\d{2})?)*)"
        r"(?:\s*(?:o'?clock|sharp))?(?![\d:.%]*\d|%|\s*(?:[ap]\.?m\b|percent|minutes?\b|mins?\b|hours?\b|past\b|h\b|h\d|/))",
        _bare_list,
    ),
    entry(r"(?P<times>(?<![\d:.])\d{1,2})\s*o'?clock", _bare_list),
    entry(
        rf"\bat\s+(?P<h>{'|'.join(_WORDS[1:])})(?:\s+(?P<m>fifteen|thirty|forty-five)|\s+o'?clock)?\b(?!\s+(?:minutes?|hours?|past)\b)"
        rf"(?:\s*{_AMPM})?",
        _worded,
    ),
    entry(rf"\b(?P<part>half|quarter)\s+(?P<side>past|to)\s+(?P<h>{NUMBER})\b(?:\s*{_AMPM})?", _spoken),
    entry(
        r"\b(?:from|between)\s+(?P<h1>\d{1,2})(?::(?P<m1>[0-5]\d))?\s*(?:to|and|-|until|till)\s*(?P<h2>\d{1,2})(?::(?P<m2>[0-5]\d))?(?![\d:]|\s*[ap]\.?m\b)",
        _between,
    ),
    entry(r"\b(?:at\s+)?12\s+noon\b", Clocks((Clock(12, 0, "exact"),))),
    entry(r"\b(?:at\s+)?12\s+midnight\b", Clocks((Clock(24, 0),))),
    entry(r"\b(?:noon|midday)\b", Clocks((Clock(12, 0, "exact"),))),
    entry(r"\bmidnight\b", Clocks((Clock(24, 0),))),
    *(entry(rf"\bin\s+the\s+{part}\b", PartOfDay(part)) for part in ("morning", "afternoon", "evening")),
    entry(r"\b(?:at\s+)?night\b", PartOfDay("night")),
    *(entry(rf"(?<=day ){part}s?\b", PartOfDay(part, whole=True)) for part in ("morning", "afternoon", "evening", "night")),
    *(
        entry(rf"(?<=every )(?<!\w){part}s?\b|(?<=each ){part}s?\b", PartOfDay(part, whole=True))
        for part in ("morning", "afternoon", "evening")
    ),
    entry(r"(?<=every )night\b|(?<=each )night\b|\bnightly\b", PartOfDay("night", whole=True)),
    entry(
        r"\b(?:around|about|approximately|approx\.?|roughly|by|before|after|no\s+later\s+than|not\s+before|at\s+the\s+latest)\s+(?=\d|noon\b|midnight\b|midday\b)",
        Unclear("At exactly which time?"),
    ),
    # days
    entry(
        r"\b(?:(?:every|each|each\s+and\s+every)\s+(?:single\s+)?day|everyday|daily|(?:every|each)(?=\s+(?:morning|afternoon|evening|night)\b))",
        WeekDays(EVERY_DAY),
    ),
    entry(r"\bper\s+day\b", WeekDays(EVERY_DAY)),
    entry(
        r"\b(?:(?:every|each|on)\s+)?(?:weekdays?|work(?:ing)?\s?days?|business\s+days?)\b(?:\s*\(?mon(?:day)?\s*(?:-|to)\s*fri(?:day)?\)?)?",
        WeekDays(WORKWEEK, note=WORKDAY_NOTE),
    ),
    entry(r"\b(?:(?:every|each|on|at)\s+)?(?:the\s+)?weekends?\b", WeekDays(frozenset({0, 6}))),
    entry(rf"\b(?:(?:every|each|on|from)\s+)?{DAY_NAME}{_TO}{DAY_NAME}", _week_range),
    entry(
        rf"\b(?P<every>(?:every|each)\s+)?(?:on\s+)?(?P<days>{DAY_NAME}(?:{_SEP}(?:(?:on|every|each)\s+)?{DAY_NAME})*)",
        _week_days,
    ),
    entry(
        rf"\b(?:monthly\s+|(?:every|each)\s+month\s+)?(?:on\s+)?the\s+(?P<days>{_DATE}(?:{_SEP}(?:the\s+)?{_DATE})*){_OF_MONTH}",
        _month_days,
    ),
    entry(
        rf"\b(?:monthly|(?:every|each)\s+month)\s*,?\s*(?:on\s+)?(?:the\s+)?(?:day\s+)?(?P<days>{_DATE}(?:{_SEP}(?:the\s+)?{_DATE})*)",
        _month_days,
    ),
    entry(
        rf"\b(?:every|each)\s+(?P<days>{_DATE}(?:{_SEP}(?:the\s+)?{_DATE})*){_OF_MONTH}?(?!\s+(?:day|hour|week|month|minute|{DAY_NAME}))",
        _month_days,
    ),
    entry(
        rf"\b(?:(?:every|each)\s+month\s+)?(?:{_EACH})?{_NTH}\s+(?P<day>{DAY_NAME}){_OF_MONTH}",
        lambda m: NthOfMonth(_nth(m), frozenset(_days_in(m["day"]))),
    ),
    entry(
        rf"\b(?:{_EACH})?{_NTH}\s+(?:weekday|work(?:ing)?\s?day|business\s+day){_OF_MONTH}",
        lambda m: NthOfMonth(_nth(m), WORKWEEK, WORKDAY_NOTE),
    ),
    entry(rf"\b(?:{_EACH})?(?:first|1st)\s+day{_OF_MONTH}", MonthDays(frozenset({1}), ALL_MONTHS)),
    entry(
        rf"\b(?:{_EACH})?last\s+(?:calendar\s+)?day{_OF_MONTH}|\b(?:at\s+)?(?:the\s+)?(?:end\s+of\s+(?:the\s+|each\s+|every\s+)?month|(?:each\s+|every\s+)?month[\s-]?end|EOM)\b",
        MonthDays(frozenset({-1}), ALL_MONTHS),
    ),
    entry(
        r"\b(?:on\s+)?(?:the\s+)?first\s+day\s+of\s+(?:each|every|the|a)\s+quarter\b", MonthDays(frozenset({1}), QUARTER_STARTS)
    ),
    entry(
        r"\b(?:on\s+)?(?:the\s+)?last\s+day\s+of\s+(?:each|every|the|a)\s+quarter\b|\b(?:at\s+)?(?:the\s+)?(?:end\s+of\s+(?:the\s+|each\s+|every\s+)?quarter|(?:each\s+|every\s+)?quarter[\s-]?end)\b",
        MonthDays(frozenset({-1}), QUARTER_ENDS),
    ),
    entry(
        r"\b(?:on\s+)?(?:the\s+)?last\s+day\s+of\s+(?:each|every|the)\s+year\b|\b(?:at\s+)?(?:the\s+)?(?:end\s+of\s+(?:the\s+|each\s+|every\s+)?year|(?:every\s+)?year[\s-]?end)\b",
        MonthDays(frozenset({-1}), frozenset({12})),
    ),
    entry(
        rf"\b(?:(?:every|each)\s+(?:year\s+)?(?:on\s+)?|(?:yearly|annually)\s+on\s+)(?:the\s+)?(?:(?P<month>{MONTH_NAME})\s+(?P<day>\d{{1,2}}(?:st|nd|rd|th)?\b)|(?P<day2>\d{{1,2}}(?:st|nd|rd|th)?)\s+(?:of\s+)?(?P<month2>{MONTH_NAME}))",
        _year_day,
    ),
    # intervals
    entry(
        rf"\b(?:once\s+)?(?:every|each)\s+(?:(?P<decimal>\d+\.\d+)|(?P<n>{NUMBER}|other|second|third|fourth)(?:st|nd|rd|th)?)?[\s-]*(?P<unit>min(?:ute)?s?|hours?|hrs?)\b",
        _every,
    ),
    entry(r"\b(?:hourly|(?:once\s+)?(?:an|per)\s+hour)\b", Every(60)),
    entry(r"\b(?:every\s+half[\s-](?:an?\s+)?hour|half[\s-]?hourly|every\s+half-hour)\b", Every(30)),
    entry(r"\bevery\s+(?:quarter\s+(?:of\s+an\s+)?hour|quarter-hour)\b", Every(15)),
    entry(r"\bevery\s+(?:hour\s+and\s+a\s+half|one\s+and\s+a\s+half\s+hours)\b", Every(90)),
    entry(
        r"\b(?:hourly|every\s+hour|each\s+hour)\s*,?\s*(?:at|on)\s+(?:(?:minute\s+|:)(?P<m>\d{1,2})|(?P<p>\d{1,2})\s*(?:minutes?|mins?)?\s+past(?:\s+the\s+hour)?)",
        lambda m: Every(60, at=int(m["m"] or m["p"])),
    ),
    entry(
        r"\b(?:at\s+)?(?P<p>\d{1,2})\s*(?:minutes?|mins?)?\s+past\s+(?:every|each)\s+hour", lambda m: Every(60, at=int(m["p"]))
    ),
    entry(r"\b(?:every\s+hour|hourly)\s*,?\s*on\s+the\s+hour\b|\bon\s+the\s+hour\b", Every(60, at=0)),
    entry(r"\b(?:(?:every\s+hour|hourly)\s*,?\s*)?(?:on|at)\s+the\s+half[\s-]hour\b", Every(60, at=30)),
    entry(
        rf"\b(?P<n>once|twice|{NUMBER}\s+times)\s+(?:a|per|each|every)\s+day\b|\b(?P<d>once|twice|{NUMBER}\s+times)\s+daily\b",
        lambda m: PerDay(_number((m["n"] or m["d"]).split()[0])),
    ),
)
