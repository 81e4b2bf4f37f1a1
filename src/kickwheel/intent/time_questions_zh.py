"""What Chinese says about time that no schedule can be made of: questions, loose words, and which data is meant."""

from __future__ import annotations

from kickwheel.intent.time_tokens import DataPeriod, Entry, Loose, OnRequest, Unclear, entry
from kickwheel.intent.time_words_zh import NUMBER, WEEKDAY

ZH_QUESTIONS: tuple[Entry, ...] = (
    # what needs a question
    entry(r"T\s*\+\s*\d+(?:日|天)?", Unclear("T+n names no clock time: at which time of the day?")),
    entry(r"每个?(?:周|星期|礼拜)(?!末)(?:[一1]次)?", Unclear("On which day of the week, and at which time?", period="week")),
    entry(r"每个?月(?!报)(?:[一1]次)?", Unclear("On which day of the month, and at which time?", period="month")),
    entry(r"每个?季度?(?:[一1]次)?", Unclear("On which day of the quarter, and at which time?", period="quarter")),
    entry(r"每年(?:[一1]次)?", Unclear("On which day of the year, and at which time?", period="year")),
    entry(r"月初|月中|[上中下]旬|季初|每半年|年初|年中", Unclear("On which day, and at which time?")),
    entry(
        rf"每(?:间?隔)?\s*{NUMBER}\s*个?(?:天|日|周|星期|礼拜|月|季度|年)|隔[天日周月年]|每隔[天日周月]|[双单]周|每两?三天",
        Unclear("Counted from which day, and at which time?"),
    ),
    entry(
        rf"(?:每周|每月|每年|每个?小时|每季度?|[一1]个?(?:周|月|年|小时))\s*{NUMBER}\s*[次遍回]",
        Unclear("At which times exactly?"),
    ),
    entry(
        r"除[^,;。]*?(?:外|以外|之外)|(?:节假日|假期|春节)[^,;。]*|非工作日|交易日|结账日|发薪日",
        Unclear("Which days exactly? Calendars of holidays can't be scheduled yet."),
    ),
    entry(
        rf"直到|截止|截至|为止|[从自]\s*(?:今年|明年|{NUMBER}\s*[年月])[^,;。]*?(?:起|开始)|起(?=[,;。]|$)",
        Unclear("A beginning or an end can't be scheduled yet: is it every time from now on?"),
    ),
    entry(
        rf"每(?:间?隔)?\s*(?:{NUMBER}\s*)?秒钟?",
        Unclear("Tasks run on minutes, not on seconds: how many minutes apart?", "invalid_schedule"),
    ),
    entry(
        r"实时|全天候|随时|立即|立刻|马上|尽快",
        Unclear("How often, in minutes? Tasks run on a schedule."),
    ),
    entry(r"有时|偶尔|经常|不定期|必要时|需要时|若干次|多次|几次|[一1]些时候", Unclear("When exactly?")),
    entry(
        rf"今天|明天|后天|今晚|明早|明晚|本周|下个?周{WEEKDAY}?|下个?月|下个?星期{WEEKDAY}?|{NUMBER}\s*年\s*{NUMBER}\s*月(?:\s*{NUMBER}\s*[日号])?",
        Unclear("Once, or again and again?"),
    ),
    entry(rf"(?<!每年)(?<!每年的){NUMBER}\s*月\s*{NUMBER}\s*[日号]", Unclear("Once, or every year?")),
    entry(
        r"每次|每当|一旦|如果|若(?=有|出现|发现)|当[^,;。]{1,20}?时|[^,;。\s]{1,8}完成后",
        Unclear("Tasks run on a schedule, not on an event: at which times?"),
    ),
    entry(r"当地时间|本地时间|用户时区", Unclear("In which time zone, e.g. Asia/Shanghai?", reason="ambiguous_zone")),
    entry(
        rf"(?<!每年)(?<!每年的)(?:{NUMBER}月份?(?!\s*{NUMBER}\s*[日号])|第?[一二三四1-4]季度|[春夏秋冬]季|旺季|淡季)",
        Unclear("Only then, or all the year round?"),
    ),
    entry("按需|手动触发?|应要求", OnRequest()),
    entry("定期|定时|按时|准时|周期性地?|例行", Loose()),
    # data, not time
    entry(
        rf"(?:昨天|昨日|前[一1]天|前[一1]日|当天|当日|上[一1]?个?(?:周|月|季度|小时)|前[一1]小时|最近\s*{NUMBER}\s*个?(?:天|日|小时|周|月)|过去\s*{NUMBER}\s*个?(?:天|日|小时|周|月)|近\s*{NUMBER}\s*个?(?:天|日|小时|周|月))(?:内)?的?",
        DataPeriod(),
    ),
    entry(
        rf"(?:超过|满|早于)?\s*{NUMBER}\s*个?(?:天|日|周|月|年|小时)(?:之前|以前|前|以上)的?|(?:超过|满|早于)\s*{NUMBER}\s*个?(?:天|日|周|月|年|小时)的?",
        DataPeriod(),
    ),
)
