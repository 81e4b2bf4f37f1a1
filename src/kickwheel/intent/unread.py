"""What stands around a task and says nothing that a task can hold: who asked, why, who owns the row.

It is set aside only where it has the words of a wish or a reason and none that could bound, forbid or time the task, and the
task is flagged with it: a person reads it before anything is deployed.
"""

from __future__ import annotations

import re

from kickwheel.intent.glossary import Glossary
from kickwheel.intent.sentences import COURTESY
from kickwheel.intent.statement_words import (
    CALENDAR,
    CONDITION,
    DENIED_EN,
    DENIED_ZH,
    LIMITS,
    OTHER_VERBS,
    TAKEN_BACK,
    TIME_LIKE,
)
from kickwheel.intent.time_reading import time_tokens
from kickwheel.intent.time_tokens import DataPeriod, PartOfDay

_EXPLAINS = re.compile(
    r"\b(?:needs?|needed|wants?|wanted|ask(?:s|ed)|request(?:s|ed)|uses?|used|depends?|rel(?:y|ies)|looks?|complain(?:s|ed)|keeps?|shows?"
    r"|because|owner|prepares?|reads?|reviews?|reports?|likes?|plans?)\b"
    r"|需要|要用|要看|使用|[给供].{1,6}用|反映|申请|提出|方便|以便|太忙|负责|要求|希望|中心$|部门?$|组$|处$|科$|室$",
    re.IGNORECASE | re.ASCII,
)
"""Who wants it, and what for."""
_REASON = re.compile(
    r"(?:because|since|as|so(?:\s+that)?|in\s+order\s+to|due\s+to|thanks\s+to"
    r"|for(?=\s+(?:[\w'-]+\s+){0,3}(?:purposes?|reasons?|reporting|analysis|analytics|compliance|planning|use|reports?|dashboards?)$))\b"
    r"|因为?|由于|鉴于|这样|以便|便于|方便|好让|省得|免得|从而|用于|用来|以供|为了|据此|届时"
    r"|[供给](?=.{1,8}(?:用|看|参考|分析|决策|查|做|出))|让(?=.{1,10}(?:能|可以|看|知道|了解|方便))",
    re.IGNORECASE | re.ASCII,
)
"""What leads to a reason or a purpose, which may name data and tell of parts of the day."""
_HARMLESS_TO = re.compile(
    r"\b(?:want|need|like|have|ha[sd]|be\s+able|is|are|ask)\w*\s+to\s+(?:see|know|have|use|read|show|plan|track|monitor|follow|understand|compare"
    r"|analy[sz]e|report|look|keep|study|prepare|forecast|spot|find|react)\b|\b(?:looks?|rel(?:y|ies)|works?)\s+(?:at|on|with)\b"
    r"|[看得做达收拿用见感受想]到|及时|同时|实时|时效|日期|前端|后台|后续|先进|提前|预先",
    re.IGNORECASE | re.ASCII,
)
"""'Wants to see': a preposition that bounds nothing."""
_IN_A_NAME = re.compile(r"\s+[a-z]{3,}")
"""Behind a part of the day that is said of somebody: 'the night guard'."""
_ASKS = re.compile(
    r"(?:so\s+|therefore\s+)?(?:please|pls|kindly|could\s+you|can\s+you)\b|(?:所以|因此|故)?[烦务恳]?请|麻烦|劳烦",
    re.IGNORECASE,
)
"""Begins the request itself: what stands before it says why."""
_IDLE_CELL = 30
_PARTS = re.compile(r"\s*(?:[,;:|。]|\s-\s)\s*")
_LONGEST = 90
_BOUNDS = (CALENDAR, CONDITION, DENIED_EN, DENIED_ZH, LIMITS, TAKEN_BACK, TIME_LIKE)
_MORE_BOUNDS = re.compile(
    r"[\d?？%]|仅|只|待|废|下线|弃|先|再|前|后|时|期|至|到|试|审批|批准|确认|手工|人工|每|测试|环境|范围|全部|部分|另|其他|其它"
    r"|\b(?:first|before|after|during|approv\w+|confirm\w*|manual\w*|test\w*|staging|all|some|any|other|also|than|time|times"
    r"|from|to|into|with|without|for\s+now|pending|draft|inactive|disabled|off|deprecated|tb[cd]|todo|none?|n/a|old|instead|both|each|every|once|twice)\b",
    re.IGNORECASE | re.ASCII,
)
"""Words that may bound a task in ways that the lists above, made for other places, leave open."""


def without_unread(text: str, glossary: Glossary) -> tuple[str, tuple[str, ...]]:
    """The statement without harmless parts at its ends, and these parts; nothing is taken from between what is read."""
    cuts = [0, *(place for match in _PARTS.finditer(text) for place in match.span()), len(text)]
    parts = [(cuts[place], cuts[place + 1]) for place in range(0, len(cuts), 2)]
    first, last = 0, len(parts) - 1
    while first < last and (
        _is_harmless(text[slice(*parts[first])], glossary)
        or (_ASKS.match(text[parts[first + 1][0] :]) and _says_why(text[slice(*parts[first])], glossary))
    ):
        first += 1
    while last > first and _is_harmless(text[slice(*parts[last])], glossary):
        last -= 1
    unread = [text[slice(*part)] for part in (*parts[:first], *parts[last + 1 :])]
    return text[parts[first][0] : parts[last][1]], tuple(part for part in unread if any(char.isalpha() for char in part))


def is_idle(cell: str, glossary: Glossary) -> bool:
    """Whether a cell of a row names neither action, data, place nor time, and bounds nothing: an owner, a department."""
    return len(cell) <= _IDLE_CELL and _bounds_nothing(cell, glossary) and not _names_data(cell, glossary)


def _is_harmless(part: str, glossary: Glossary) -> bool:
    if not any(char.isalnum() for char in part) or COURTESY.fullmatch(part.strip(" .!~")):
        return True
    if len(part) > _LONGEST:
        return False
    if reason := _REASON.match(part):
        return _bounds_nothing(part[reason.end() :], glossary, parts_of_day=True)
    return bool(_EXPLAINS.search(part)) and _bounds_nothing(part, glossary) and not _names_data(part, glossary)


def _says_why(part: str, glossary: Glossary) -> bool:
    return len(part) <= _LONGEST and _bounds_nothing(part, glossary) and not _names_data(part, glossary)


def _bounds_nothing(part: str, glossary: Glossary, *, parts_of_day: bool = False) -> bool:
    told = _HARMLESS_TO.sub(" ", part)
    times = []
    for token in time_tokens(part, glossary):
        a_part = isinstance(token.meaning, PartOfDay)
        if a_part and (parts_of_day or _IN_A_NAME.match(part, token.end)):
            told = told.replace(token.text, " ")
        elif not isinstance(token.meaning, DataPeriod):
            times.append(token)
    return (
        not times
        and not any(pattern.search(told) for pattern in _BOUNDS)
        and not _MORE_BOUNDS.search(told)
        and not OTHER_VERBS.search(told)
        and not glossary.action_pattern.search(told)
    )


def _names_data(part: str, glossary: Glossary) -> bool:
    return bool(glossary.entity_pattern.search(part) or glossary.place_pattern.search(part))
