"""What stands above statements and holds for all of them: '每日9点：' over a list, a heading with a time, 'All times are …'.

Only what is a time or a zone and nothing else counts; it is added to each statement below, so that one which says otherwise is
a question.
"""

from __future__ import annotations

import re
from functools import cache

from kickwheel.intent.glossary import Glossary, load_glossary
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.suspicion import LONGEST
from kickwheel.intent.time_reading import time_tokens
from kickwheel.intent.time_tokens import Clocks, CronWords, DataPeriod, Every, InZone, Loose

_ENDS_OPEN = re.compile(r"[:：]\s*$")
_WORK = re.compile(
    r"\b(?:run(?:s|ning)?|(?:the\s+)?(?:following\s+)?(?:tasks?|jobs?)|schedule[ds]?|to\s+be\s+(?:done|run)|following)\b"
    r"|(?:需要?|应|都要?|均)?(?:执行|运行|进行|完成|跑)|(?:以下|下列)?(?:的)?(?:任务|作业|工作)|如下|以下|下列",
    re.IGNORECASE | re.ASCII,
)
"""What a line with a time says beside it that changes nothing."""
_TIES = re.compile(r"[\s,、:;.()\[\]/&+-]|\b(?:at|on|in|and|the|of|to|from)\b|[的在和及与各]", re.IGNORECASE | re.ASCII)
_ZONE_OF_ALL = re.compile(
    r"(?:note\s*:\s*)?(?:all|the)\s+(?:clock\s+)?times?\s+(?:(?:below|here|above|given|stated|listed|in\s+this\s+(?:document|list|page))\s+)*(?:is|are)\s+(?:all\s+)?(?:meant\s+|given\s+|stated\s+)?"
    r"(?:in\s+)?(?:the\s+)?(?P<en>[^,;]{2,40})"
    r"|(?:注\s*[:,]?\s*)?(?:以下|本文|文中|下列|下文|所有|全部|上述|文档)?(?:中|的|所有|全部|涉及)*时间(?:点|均|都|一律|全部|默认|统一)*(?:为|是|按照?|以|采用|使用|用|指)(?P<zh>[^,;]{2,20}?)(?:为准|计算?|执行)?",
    re.IGNORECASE | re.ASCII,
)


def time_of_lead_in(text: str, *, heading: bool = False) -> str | None:
    """The words of time of a line that ends in a colon and holds nothing else; None: it holds more, or none.

    A heading needs no colon, and a clock time, an interval or a cron expression: 'Monthly' is what its section is about.
    """
    line = normalise(text)[:LONGEST]
    if not heading and not _ENDS_OPEN.search(line):
        return None
    line = _WORK.sub(" ", _ENDS_OPEN.sub("", line)).strip()
    tokens = time_tokens(line, _everybodys_words())
    timed = [token.meaning for token in tokens if not isinstance(token.meaning, DataPeriod | InZone | Loose)]
    if not timed or (heading and not any(isinstance(meaning, Clocks | Every | CronWords) for meaning in timed)):
        return None
    letters = list(line)
    for token in tokens:
        letters[token.start : token.end] = " " * (token.end - token.start)
    return None if _TIES.sub("", "".join(letters)) else line


def zone_of_all(sentence: str) -> str | None:
    """The zone of a sentence that says in which one every time is; None: it says something else."""
    line = normalise(sentence)[:LONGEST].rstrip(" .。!")
    matched = _ZONE_OF_ALL.fullmatch(line)
    if matched is None:
        return None
    said = matched["en"] or matched["zh"]
    for words in (said, f"{said} time", f"{said}时间"):
        tokens = time_tokens(words, _everybodys_words())
        if len(tokens) == 1 and isinstance(tokens[0].meaning, InZone) and tokens[0].start == 0 and tokens[0].end == len(words):
            return tokens[0].meaning.name
    return None


@cache
def _everybodys_words() -> Glossary:
    return load_glossary()
