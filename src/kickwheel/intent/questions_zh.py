"""The questions of rejections in Chinese, for statements that are Chinese.

One table: what the rules ask in English, and what a Chinese reader is asked. ``<q>`` stands for quoted words of the statement,
``<>`` for anything else that is filled in. What the table does not have (the grammar of cron) is asked in English.
"""

from __future__ import annotations

import re
from functools import cache

_SAY = "请写成“每天9点同步订单至数据湖”这样的形式"
_TABLE = {
    # what is to be done, with which data
    "Which task does this ask for? Say what to do with which data, and when": (
        "这里要求的是哪项任务？请写明做什么、用哪些数据、何时做"
    ),
    "This is a question: which task does it ask for?": "这是一个问句：它要求的是哪项任务？",
    "What is to be done? Known actions: <>": "要做什么？已知的动作有：<>",
    "What does <q> mean for the task? Say it as 'sync ORDERS to LAKE every day at 9:00'": f"“<>”对这项任务意味着什么？{_SAY}",
    "What does the arrow stand for? Say it as 'sync ORDERS to LAKE every day at 9:00'": f"箭头表示什么动作？{_SAY}",
    "Is the task wanted at all? <q> stands before it. Say it as 'sync ORDERS to LAKE every day at 9:00'": (
        f"到底要不要这项任务？它前面写着“<>”。{_SAY}"
    ),
    "What does <q> mean for the task? A task has no conditions": "“<>”对这项任务意味着什么？任务不能带条件",
    "Which data is meant, <q> or <q>?": "指的是哪些数据，“<>”还是“<>”？",
    "Which data is <q>?": "“<>”指哪些数据？",
    "Which place is <q>?": "“<>”指哪个目的地？",
    "Which data does <q> act on?": "动作 <> 作用于哪些数据？",
    "Is each of them to be checked, or one against the other?": "是分别校验，还是互相核对？",
    "Longer than <> characters: what does it ask for, in short?": "超过 <> 个字符：简而言之，它要求什么？",
    "This reads like an instruction to the machinery: is it a requirement at all?": (
        "这像是对系统下的指令：它真的是一条需求吗？"
    ),
    "The rules map this, but <>: is it a task?": "规则能读懂这句话，但 <>：它是一项任务吗？",
    "<>. A model reads it as <q>: if that is meant, write that instead": "<>。模型的理解是“<>”：如果是这个意思，请改写成这样",
    "<>. They disagree: <>": "<>。规则与模型不一致：<>",
    "Line <> says <q> about it: what is right for <>?": "第 <> 行对它说“<>”：<> 以哪个为准？",
    "<> name different times for <>: which is right?": "<> 给“<>”写了不同的时间：以哪个为准？",
    "<> says the same: is this another task (name a qualifier)?": (
        "<> 说的是同一件事：这是另一项任务吗？（如果是，请写“限定”）"
    ),
    # zones
    "In which time zone? Name it in the statement, the document's front matter, --zone or domain.yaml": (
        "在哪个时区？请写在语句、文档开头、--zone 或 domain.yaml 里"
    ),
    "In which IANA time zone, e.g. Europe/Berlin?": "在哪个 IANA 时区，例如 Asia/Shanghai？",
    "In which time zone, e.g. Europe/Berlin?": "在哪个时区，例如 Asia/Shanghai？",
    "In which time zone, e.g. Asia/Shanghai?": "在哪个时区，例如 Asia/Shanghai？",
    "Which zone is <>? <>": "<> 指哪个时区？可能是：<>",
    "Which IANA time zone is <q>, e.g. Europe/Berlin?": "“<>”是哪个 IANA 时区，例如 Asia/Shanghai？",
    "Which IANA time zone is <q>, e.g. Asia/Kolkata?": "“<>”是哪个 IANA 时区，例如 Asia/Shanghai？",
    "Is the time meant in <>'s time zone? Write <q>": "时间是按 <> 的时区吗？请写成“<>”",
    "Two time zones are named, <>: which of them counts?": "写了两个时区，<>：以哪个为准？",
    "The statement says <>, and line <> says <>: which of the zones counts?": "语句说 <>，第 <> 行说 <>：以哪个时区为准？",
    # times that are not clear
    "When exactly is <q>?": "“<>”具体是什么时候？",
    "When exactly?": "具体是什么时候？",
    "At exactly which time?": "具体是几点几分？",
    "At which times exactly?": "具体在哪些时间？",
    "At which time of the day?": "在一天中的几点？",
    "At which <> times of the day?": "是一天中的哪 <> 个时间？",
    "T+n names no clock time: at which time of the day?": "T+n 没有写几点：在一天中的几点？",
    "On which day of the week, and at which time?": "在星期几、几点？",
    "On which day of the month, and at which time?": "在每月几号、几点？",
    "On which day of the quarter, and at which time?": "在季度的哪一天、几点？",
    "On which day of the year, and at which time?": "在一年的哪一天、几点？",
    "On which day, and at which time?": "在哪一天、几点？",
    "On which days? Every day, or once only?": "在哪些天？每天，还是只有一次？",
    "Every <>, or only the next one?": "是每个“<>”，还是只有最近的那一个？",
    "Once, or again and again?": "是一次，还是反复？",
    "Once, or every year?": "是一次，还是每年？",
    "Only then, or all the year round?": "只在那时，还是全年？",
    "Counted from which day, and at which time?": "从哪一天算起、几点？",
    "How often, in minutes? Tasks run on a schedule.": "多久一次（以分钟计）？任务按计划运行。",
    "How often within that part of the day?": "在那段时间里多久一次？",
    "How many whole minutes apart?": "间隔是多少整分钟？",
    "How many minutes apart, and how many past the hour?": "间隔多少分钟，在每小时的第几分？",
    "Until when, and how often in between?": "到什么时候为止，其间多久一次？",
    "Which days exactly? Calendars of holidays can't be scheduled yet.": "具体是哪些天？目前不能按节假日历安排。",
    "Which days exactly? Exceptions and calendars of holidays can't be scheduled yet.": (
        "具体是哪些天？目前不能安排例外和节假日历。"
    ),
    "A beginning or an end can't be scheduled yet: is it every time from now on?": (
        "目前不能安排开始或结束日期：是从现在起每次都做吗？"
    ),
    "Tasks run on minutes, not on seconds: how many minutes apart?": "任务以分钟而不是秒为单位：间隔多少分钟？",
    "Tasks run on a schedule, not on an event: at which times?": "任务按时间而不是按事件运行：在哪些时间？",
    "All day long on that day, or at one time of it?": "是那一整天，还是那天的某个时间？",
    "Midnight and the hours after it: those at the beginning of that day, or those that follow it?": (
        "午夜和凌晨：是当天开始的时候，还是当天结束之后？"
    ),
    "Does that part of the day go over midnight, or is it meant in 12 hours?": "这段时间跨过午夜，还是按12小时制写的？",
    "Which hour is that, in 24 hours?": "按24小时制是几点？",
    "Is <> in the morning or in the afternoon?": "<> 是上午还是下午？",
    "Is <> meant, or the <>?": "是 <>，还是“<>”？",
    "Is <> in the <> too?": "<> 也是“<>”吗？",
    "Which hour of the day is <> in the <>?": "“<1>”的 <0> 是几点？",
    "Which time does <q> belong to?": "“<>”说的是哪个时间？",
    "Which time is meant? Hours go from 0 to 23, minutes to 59.": "是什么时间？小时为0到23，分钟到59。",
    "Tuesday at 10:00, or at 20:00? Write 周二 10:00 or 20:00.": "是周二的10:00，还是20:00？请写成“周二10:00”或“周二20:00”。",
    # days
    "Which days of the month? They go from 1 to 31.": "每月的哪几天？日期为1到31。",
    "Which day of the year? Months go from 1 to 12, days from 1 to 31.": "一年中的哪一天？月份为1到12，日期为1到31。",
    "Which month of the quarter? It has three.": "季度的第几个月？一个季度只有三个月。",
    "Which working day? Every month has twenty of them.": "第几个工作日？每月至少有二十个。",
    "Not every month has such a day: which one is meant?": "不是每个月都有这一天：指的是哪一天？",
    "No year has such a day: which day is meant? The last of a month is 'last day of the month'": (
        "哪一年都没有这一天：指的是哪一天？每月最后一天请写“月末”"
    ),
    "Different days in different months: write a statement for each of them.": "不同的月份写了不同的日期：请各写一句。",
    "What does <q> mean: on which days exactly?": "“<>”是什么意思：具体在哪些天？",
    "What does <q> mean: at which times exactly?": "“<>”是什么意思：具体在哪些时间？",
    # contradictions
    "Which of the tasks runs at which time?": "哪项任务在哪个时间运行？",
    "Is <q> a time at which the task runs? <q> stands before it.": "“<>”是任务运行的时间吗？它前面写着“<>”。",
    "Does the task run at <q>, at <q>, or at both?": "任务在“<>”运行，在“<>”运行，还是两个时间都运行？",
    "<> is announced, <> named: which is right?": "说的是 <>，写了 <> 个：以哪个为准？",
    "<> times are announced, <> named: which is right?": "说的是 <> 次，写了 <> 个：以哪个为准？",
    "<> times a day are announced, <> named: which is right?": "说的是一天 <> 次，写了 <> 个时间：以哪个为准？",
    "The <> is named, and a time in another part of the day: which counts?": "写了“<>”，又写了别的时段的时间：以哪个为准？",
    "The words name different times: which of them counts?": "这些词指不同的时间：以哪个为准？",
    "Two different sets of days are named: which of them counts?": "写了两组不同的日子：以哪组为准？",
    "Two different intervals are named: which of them counts?": "写了两个不同的间隔：以哪个为准？",
    "An interval and a time of day are named: which of them counts?": "既写了间隔，又写了时间：以哪个为准？",
    "A cron expression and other words of time are named: which of them counts?": (
        "既写了 cron 表达式，又写了别的时间：以哪个为准？"
    ),
    "Several days and several times are named: which time on which days?": "写了几组日子和几个时间：哪些天在哪个时间？",
    "Every day, or on those days only?": "是每天，还是只在那些天？",
    "Every day, or on the other days that are named?": "是每天，还是在另外写的那些天？",
    "On request, or at the times that are named too?": "是按需，还是也在写明的时间？",
    "Every <> is more often than the limit of <> minutes: is <> enough?": "每<>一次超过了上限（<> 分钟一次）：<> 够吗？",
}  # fmt: skip
_WORDS = {
    "small hours": "凌晨", "morning": "上午", "noon": "中午", "afternoon": "下午", "evening": "晚上", "night": "夜里",
    "minute": "分钟", "day": "天",
}  # fmt: skip
"""English words that fill a gap."""
_HAN = re.compile(r"[㐀-鿿]")
_QUOTED = r"(?:'(?:[^']*)'|\"(?:[^\"]*)\")"
_WORD_AND_QUESTION = re.compile(rf"(?P<word>{_QUOTED}): (?P<question>.+)", re.DOTALL)
_MEANINGS = re.compile(r"\(([A-Za-z_]+(?:/[\w+-]+)*)\)")


def question_for(statement: str, question: str) -> str:
    """The question in the statement's language: as it stands, or in Chinese where the statement has Chinese characters."""
    return in_chinese(question) if _HAN.search(statement) else question


def in_chinese(question: str) -> str:
    """The question in Chinese; as it stands where the table does not have it."""
    if told := _TABLE.get(question):
        return told
    for pattern, told in _patterns():
        if matched := pattern.fullmatch(question):
            parts = [_filled(part) for part in matched.groups()]
            return _with_gaps(told, parts)
    if matched := _WORD_AND_QUESTION.fullmatch(question):
        return f"“{matched['word'][1:-1]}”：{in_chinese(matched['question'])}"
    return question


def _with_gaps(told: str, parts: list[str]) -> str:
    """``<>`` takes the next part, ``<1>`` the one of that number, from 0."""
    following = iter(range(len(parts)))
    return re.sub(r"<(\d?)>", lambda gap: parts[int(gap[1]) if gap[1] else next(following)], told)


def _filled(part: str) -> str:
    if re.fullmatch(_QUOTED, part):
        return part[1:-1]
    if zones := _MEANINGS.findall(part):
        return "、".join(zones)
    minutes = re.fullmatch(r"(\d+) minutes", part)
    return f"{minutes[1]} 分钟" if minutes else _WORDS.get(part) or in_chinese(part).replace(" and ", " 和 ")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of the lines with gaps."""
    gaps = {"<q>": f"({_QUOTED})", "<>": "(.+?)"}
    return tuple(
        (re.compile("".join(gaps.get(part) or re.escape(part) for part in re.split("(<q>|<>)", asked)), re.DOTALL), told)
        for asked, told in _TABLE.items()
        if "<" in asked
    )
