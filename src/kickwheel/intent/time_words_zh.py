"""How Chinese says when."""

from __future__ import annotations

import re

from kickwheel.intent.normal_text import ZH_NUMBER, number
from kickwheel.intent.recurrence import ALL_MONTHS, EVERY_DAY, QUARTER_ENDS, QUARTER_STARTS, WORKWEEK
from kickwheel.intent.time_tokens import (
    WORKDAY_NOTE,
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
    year_days,
)

NUMBER = ZH_NUMBER
_WEEK = r"(?:周|星期|礼拜)"
WEEKDAY = r"[一二三四五六日天]"
_NOT_A_NOUN = r"(?![志报刊次期常程])"
_DAY = {name: index for index, name in enumerate("日一二三四五六")} | {"天": 0}
_SEP = r"\s*[、,和及与跟/]\s*"
_TO = r"\s*[到至~-]\s*"
_DATE = rf"{NUMBER}\s*[号日]?"


def _clock(match: re.Match[str]) -> Meaning | None:
    if match.group() == "一点" and match.string[match.start() - 1 : match.start()] in tuple("快早晚慢多少有"):
        return None  # 快一点: a bit faster
    hour = number(match["h"])
    if match["half"]:
        minute = 30
    elif match["quarters"]:
        minute = 15 * number(match["quarters"])
    else:
        minute = number(match["m"]) if match["m"] else 0
    return Clocks((Clock(hour, minute),))


def _week_days(match: re.Match[str]) -> Meaning:
    body = match["days"]
    if body.endswith("二") and match.string.startswith("十", match.end()):
        return Unclear("Tuesday at 10:00, or at 20:00? Write 周二 10:00 or 20:00.")
    whole = re.fullmatch(rf"({WEEKDAY}){_TO}{_WEEK}?({WEEKDAY})", body)
    if whole:
        first, last = _DAY[whole[1]], _DAY[whole[2]]
        days = frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))
    else:
        days = frozenset(_DAY[char] for char in re.findall(WEEKDAY, body))
    meaning = WeekDays(days, recurring=bool(match["every"]) or len(days) > 1)
    return _if_counted(match, meaning, len(days))


def _if_counted(match: re.Match[str], meaning: Meaning, found: int) -> Meaning:
    """每周两次，周一和周四: a number that is announced must be the one that is named."""
    if match["count"] and number(match["count"]) != found:
        return Unclear(f"{match['count']} times are announced, {found} named: which is right?")
    return meaning


def _month_days(match: re.Match[str]) -> Meaning | None:
    days: set[int] = set()
    for part in re.split(_SEP, match["days"]):
        ends = [number(re.sub(r"[号日\s]", "", end)) for end in re.split(_TO, part)]
        days.update(range(ends[0], ends[-1] + 1))
    if not days or not all(1 <= day <= 31 for day in days):
        return Unclear("Which days of the month? They go from 1 to 31.")
    return _if_counted(match, MonthDays(frozenset(days), ALL_MONTHS), len(days))


def _year_days(match: re.Match[str]) -> Meaning:
    found = re.findall(rf"({NUMBER})\s*月份?\s*({NUMBER})\s*[号日]", match["dates"])
    return year_days([(number(month), number(day)) for month, day in found])


def _day_of_months(match: re.Match[str]) -> Meaning:
    """每年1月和7月的1号."""
    months = [number(month) for month in re.findall(NUMBER, match["months"])]
    day = 1 if match["first"] else number(match["day"]) if match["day"] else None
    if day is None:
        ok = all(1 <= month <= 12 for month in months)
        return MonthDays(frozenset({-1}), frozenset(months)) if ok else year_days([])
    return year_days([(month, day) for month in months])


def _months_of_quarter(match: re.Match[str]) -> frozenset[int] | None:
    """The months that are the first, second or last ones of their quarters."""
    nth = 3 if match["last_month"] else number(match["month"]) if match["month"] else 1
    return frozenset(month + nth - 1 for month in QUARTER_STARTS) if 1 <= nth <= 3 else None


def _nth_of_quarter_month(match: re.Match[str]) -> Meaning:
    """每季度首月的第一个周三, 每季度末月最后一个工作日."""
    months, nth = _months_of_quarter(match), _nth(match)
    if months is None:
        return Unclear("Which month of the quarter? It has three.")
    if not 1 <= abs(nth) <= (4 if match["day"] else 20):
        return Unclear("Not every month has such a day: which one is meant?")
    if match["day"]:
        return NthOfMonth(nth, frozenset({_DAY[match["day"]]}), months=months)
    return NthOfMonth(nth, WORKWEEK, WORKDAY_NOTE, months)


def _month_of_quarter(match: re.Match[str]) -> Meaning:
    """每季度第二个月的5号."""
    nth = 3 if match["last"] else number(match["month"]) if match["month"] else 1
    if not 1 <= nth <= 3:
        return Unclear("Which month of the quarter? It has three.")
    months = frozenset(month + nth - 1 for month in QUARTER_STARTS)
    return MonthDays(frozenset({number(match["day"]) if match["day"] else -1}), months)


def _every(match: re.Match[str]) -> Meaning | None:
    unit = {"分": 1, "刻": 15}.get(match["unit"][0], 60)
    if match["decimal"]:
        amount = float(match["decimal"]) * unit
        return Every(int(amount)) if amount == int(amount) else Unclear("How many whole minutes apart?")
    if match["half"] and not match["n"]:
        return Every(unit // 2) if unit == 60 else None
    return Every((number(match["n"]) if match["n"] else 1) * unit + (unit // 2 if match["half"] else 0))


def _past_hour(match: re.Match[str]) -> Meaning:
    minutes = sorted({number(minute) for minute in re.findall(NUMBER, match["m"])})
    return Every(60, at=tuple(minutes))


def _times_a_day(match: re.Match[str]) -> Meaning | None:
    """每天要同步两次; not 失败重试3次."""
    before = match.string[max(0, match.start() - 4) : match.start()]
    return None if re.search(r"试|最多|至少|超过|不足|第|每|周|月|年", before) else PerDay(number(match["n"]))


_FIRST_DAY = r"(?:的)?(?:首日|首天|第[一1]天|[一1][号日])"
_LAST = r"(?:的)?(?:最后[一1]天|末日)"
_LAST_DAY = rf"(?:的)?(?:[末底](?:的)?(?:{_LAST})?|最后[一1]天|月[末底](?:的)?(?:{_LAST})?|末日)"
_ORDINAL = rf"(?:第(?P<nth>{NUMBER})个?|(?P<last>最后[一1]?个?)|(?P<first>首个?)|倒数第(?P<back>{NUMBER})个?)"
_MONTHLY = r"(?:每个?月(?:[末底初](?:的)?|(?:的)?月[末底初](?:的)?|(?:的)?)|(?:每逢|逢)?月[末底初](?:的)?)"
_QUARTERLY = r"(?:每个?季度?(?:[末初](?:的)?|(?:的)?)|(?:每逢|逢)?季度?[末初](?:的)?)"
_YEARLY = r"(?:每年(?:[末底初](?:的)?|(?:的)?)|年[末底初](?:的)?)"
_ONCE = rf"(?:(?P<count>{NUMBER})\s*[次遍回])?"
_FIXED = r"\s*[,:(]?\s*(?:固定|统一)?(?:的|在|于|为|选在|安排在)?\s*"
_PARTS = (
    ("small hours", "凌晨"),
    ("night", "半夜|深夜|夜里|夜间|夜晚"),
    ("morning", "清晨|[一1]?大清早|清早|[一1]大?早|早上|早晨|早间|上午"),
    ("noon", "中午|午间"),
    ("afternoon", "下午|午后"),
    ("evening", "傍晚|黄昏|晚上|晚间|今晚"),
)


_SPANS = (
    (_MONTHLY, ALL_MONTHS, ALL_MONTHS),
    (_QUARTERLY, QUARTER_STARTS, QUARTER_ENDS),
    (_YEARLY, frozenset({1}), frozenset({12})),
)
"""How a span is named, the months of its first days, and those of its last ones."""


def _nth(match: re.Match[str]) -> int:
    if match["back"]:
        return -number(match["back"])
    return -1 if match["last"] else number(match["nth"]) if match["nth"] else 1


def _nth_of_span(span: str, first: frozenset[int], last: frozenset[int]) -> tuple[Entry, Entry]:
    """Entries for the nth day of the week of a span, and for its nth working day."""

    def week_day(match: re.Match[str]) -> Meaning:
        nth = _nth(match)
        if not 1 <= abs(nth) <= 4:
            return Unclear("Not every month has such a day: which one is meant?")
        return NthOfMonth(nth, frozenset({_DAY[match["day"]]}), months=first if nth > 0 else last)

    def working_day(match: re.Match[str]) -> Meaning:
        nth = _nth(match)
        if not 1 <= abs(nth) <= 20:
            return Unclear("Which working day? Every month has twenty of them.")
        return NthOfMonth(nth, WORKWEEK, WORKDAY_NOTE, first if nth > 0 else last)

    return (
        entry(rf"{span}{_ORDINAL}{_WEEK}(?P<day>{WEEKDAY})", week_day),
        entry(rf"{span}{_ORDINAL}(?:工作|办公)日", working_day),
    )


ZH: tuple[Entry, ...] = (
    # clock times
    entry(
        rf"(?<![\d:.])(?P<h>{NUMBER})\s*(?:点钟?|时(?![间候段区长]))\s*"
        rf"(?:(?P<half>半)|(?P<quarters>[一三])刻|(?P<m>\d{{2}}|[零〇]?{NUMBER}(?=分)|[零〇][一二三四五六七八九]|[一二三四五]?十[一二三四五六七八九]?)(?:分(?!钟))?|整)?",
        _clock,
    ),
    entry(
        rf"(?<![\d:])(?P<h1>{NUMBER})\s*{_TO}\s*(?P<h2>{NUMBER})\s*点(?![\d半一三])",
        lambda m: Between(Clock(number(m["h1"])), Clock(number(m["h2"]))),
    ),
    entry("正午", Clocks((Clock(12, 0, "exact"),))),
    entry(
        r"(?:午夜|子夜)(?:\s*(?:12|24|0|十二|零)\s*(?:点钟?|时)整?)?(?!\s*\d|[点时一二三四五六七八九十])",
        Clocks((Clock(24, 0),)),
    ),
    *(entry(words, PartOfDay(name)) for name, words in _PARTS),
    entry(rf"早(?=\s*{NUMBER}\s*[点时:])", PartOfDay("morning")),
    entry(rf"晚(?=\s*{NUMBER}\s*[点时:])", PartOfDay("evening")),
    entry(r"(?<=每)[早晨]上?(?!期)|(?<=每天)早上?|(?<=每日)早上?", PartOfDay("morning", whole=True)),
    entry(r"(?<=每)晚上?|(?<=每天)晚上?|(?<=每日)晚上?", PartOfDay("evening", whole=True)),
    entry(r"(?<=每)夜", PartOfDay("night", whole=True)),
    entry(r"左右|前后|大约|大概|上下|(?<=[点半时分整])\s*(?:之前|以前|前|之后|以后|后)", Unclear("At exactly which time?")),
    # days
    entry(rf"每一?(?:天|日{_NOT_A_NOUN})|逐日|天天|每(?=[早晨晚夜])", WeekDays(EVERY_DAY)),
    entry(r"(?:每个?|每逢|逢)?工作日", WeekDays(WORKWEEK, note=WORKDAY_NOTE)),
    entry(r"(?:每个?|每逢|逢)?(?:周末|双休日)(?:两天)?", WeekDays(frozenset({0, 6}))),
    entry(
        rf"(?P<every>每个?{_WEEK}\s*{_ONCE}{_FIXED}(?=周|星期|礼拜)|每个?|每逢|逢)?{_WEEK}(?P<days>{WEEKDAY}{_TO}{_WEEK}?{WEEKDAY}"
        rf"|{WEEKDAY}(?:(?:{_SEP})?{_WEEK}?{WEEKDAY})*){_NOT_A_NOUN}(?![点时]|(?:{_SEP}|{_TO}){WEEKDAY}[点时])",
        _week_days,
    ),
    # days of the month, the quarter and the year
    entry(
        rf"每个?月(?:月?初)?\s*{_ONCE}{_FIXED}(?P<days>(?:{_DATE}(?:{_TO}{_DATE})?{_SEP})*{NUMBER}(?:\s*[号日]?{_TO}{NUMBER})?\s*(?:号|日{_NOT_A_NOUN}))",
        _month_days,
    ),
    entry(r"每个?月(?:的)?(?:首日|首天|第[一1]天)", MonthDays(frozenset({1}), ALL_MONTHS)),
    entry(rf"每个?月{_LAST_DAY}|(?:每逢?|逢)?(?:月末|月底)(?:{_LAST})?", MonthDays(frozenset({-1}), ALL_MONTHS)),
    entry(rf"每个?月(?:的)?倒数第(?P<n>{NUMBER})天", lambda m: MonthDays(frozenset({-number(m["n"])}), ALL_MONTHS)),
    *(line for span in _SPANS for line in _nth_of_span(*span)),
    entry(rf"每个?季度?{_FIRST_DAY}|季度?首日|季初首日", MonthDays(frozenset({1}), QUARTER_STARTS)),
    entry(rf"每个?季度?{_LAST_DAY}|(?:每逢|逢)?季度?末(?:{_LAST})?|季度{_LAST}", MonthDays(frozenset({-1}), QUARTER_ENDS)),
    entry(
        rf"每个?季度?(?:的)?(?:第(?P<month>{NUMBER})个月|(?P<first>首月|首个月)|(?P<last>末月|最后[一1]个月))(?:的)?(?:(?P<day>{NUMBER})[号日]|{_LAST}|月[末底])",
        _month_of_quarter,
    ),
    entry(
        rf"每个?季度?(?:的)?(?:第(?P<month>{NUMBER})个月|(?P<first_month>首月|首个月)|(?P<last_month>末月|最后[一1]个月))(?:的)?{_ORDINAL}(?:{_WEEK}(?P<day>{WEEKDAY})|(?:工作|办公)日)",
        _nth_of_quarter_month,
    ),
    entry(
        rf"(?P<first>(?!))?(?P<months>{NUMBER}月份?(?:{_SEP}{NUMBER}月份?)+)的?(?P<day>{NUMBER})[号日]",
        _day_of_months,
    ),
    entry(rf"每半年{_FIRST_DAY}", MonthDays(frozenset({1}), frozenset({1, 7}))),
    entry(rf"每半年{_LAST_DAY}", MonthDays(frozenset({-1}), frozenset({6, 12}))),
    entry(
        rf"每年(?:的)?(?P<dates>{NUMBER}\s*月份?\s*{NUMBER}\s*[号日](?:{_SEP}{NUMBER}\s*月份?\s*{NUMBER}\s*[号日])*)",
        _year_days,
    ),
    entry(
        rf"每年(?:的)?(?P<months>{NUMBER}月?份?(?:{_SEP}{NUMBER}月?份?)*(?<=[月份]))的?(?:(?P<first>首日|第[一1]天)|(?P<day>{NUMBER})[号日]|[末底]|{_LAST})",
        _day_of_months,
    ),
    entry(rf"每年{_FIRST_DAY}|每年元旦", MonthDays(frozenset({1}), frozenset({1}))),
    entry(rf"每年{_LAST_DAY}|(?:每逢|逢)?(?:年末|年底)(?:{_LAST})?", MonthDays(frozenset({-1}), frozenset({12}))),
    # intervals
    entry(
        rf"(?:每(?:间?隔)?|间隔)\s*(?:(?P<decimal>\d+\.\d+)|(?P<n>{NUMBER}))?\s*个?(?P<half>半)?个?\s*(?P<unit>分钟|刻钟|小时|钟头)(?:\s*[一1]次)?",
        _every,
    ),
    entry(
        rf"(?:每|间)隔\s*(?P<decimal>\d+\.\d+)?(?P<n>{NUMBER})?\s*个?(?P<half>半)?个?\s*(?P<unit>分(?!之)|刻)(?:\s*[一1]次)?",
        _every,
    ),
    entry(
        rf"(?P<decimal>(?!))?(?P<n>{NUMBER})?\s*个?(?P<half>半)?个?\s*(?P<unit>分钟|刻钟|小时|钟头)\s*(?:[一1]次)",
        _every,
    ),
    entry(
        rf"(?<![每隔第前近去后内\d一二三四五六七八九十个过了满够约的])(?P<decimal>(?!))?(?P<n>{NUMBER})?个?(?P<half>半)?个?(?P<unit>分钟|刻钟|小时|钟头)(?=[^,;\d]{{1,8}}[一1][次回遍趟])",
        _every,
    ),
    entry(
        rf"每个?(?:小时|钟头)的?(?:第\s*)?(?P<m>{NUMBER}(?:分钟?)?(?:{_SEP}(?:第\s*)?{NUMBER}(?:分钟?)?)*(?<=[分钟]))",
        _past_hour,
    ),
    entry(rf"(?:每个?|每逢|逢)整点[过后](?P<m>{NUMBER})分钟?", lambda m: Every(60, at=(number(m["m"]),))),
    entry(r"每个?(?:小时|钟头)(?:的|在)?整点|每逢整点|每个整点|逢?整点", Every(60, at=(0,))),
    entry(r"(?P<n>[二两三四五六2-6])\s*[次遍](?!级)", _times_a_day),
    entry(r"(?:每天|每日)?早晚各?(?:[一1]次)", PerDay(2)),
    entry(r"(?:每天|每日)?早中晚各?(?:[一1]次)", PerDay(3)),
    entry(rf"(?:每天|每日|[一1][天日])\s*(?P<n>{NUMBER})\s*[次遍回]", lambda m: PerDay(number(m["n"]))),
)
