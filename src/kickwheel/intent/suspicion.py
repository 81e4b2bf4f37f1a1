"""Statements that nobody reads, neither rules nor a model: endless ones, and those that address the reader's machinery.

They are data, and never obeyed.
"""

from __future__ import annotations

import re

from kickwheel.intent.ports import Refused

LONGEST = 500
"""Characters of a statement; no requirement needs more, and a document must not be able to slow its reader down."""
_PATTERNS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:rules?|instructions?|prompts?|guidelines|checks|above|previous)\b"
    r"|\byou\s+are\s+now\b|\bact\s+as\b|\bsystem\s+prompt\b|\bjailbreak\b|\bdeveloper\s+mode\b"
    r"|\b(?:drop|truncate|delete|wipe|erase)\b.{0,20}\b(?:all|every(?!\s+(?:\d|day|hour|week|month|quarter|year|night|morning|evening|\w+day\b))|tables?|databases?|everything)\b|\brm\s+-rf\b"
    r"|<\s*/?\s*(?:script|system|instructions?)\b|<\|"
    r"|(?:忽略|无视|忘记|绕过|跳过).{0,12}(?:规则|指令|指示|要求|提示|校验|以上|之前|上述)"
    r"|(?:删除|清空|删掉|销毁).{0,6}(?:所有|全部|整个|库|表)|删库|你现在是|扮演|系统提示",
    re.IGNORECASE | re.ASCII,
)


def not_read(text: str) -> Refused | None:
    """Why a normalised statement is refused unread; None: it may be read."""
    if len(text) > LONGEST:
        return Refused("not_a_task", f"Longer than {LONGEST} characters: what does it ask for, in short?")
    if looks_injected(text):
        return Refused("suspicious", "This reads like an instruction to the machinery: is it a requirement at all?")
    return None


def looks_injected(text: str) -> bool:
    """Whether a normalised statement reads like an attempt to steer the reader, or like wholesale destruction."""
    return bool(_PATTERNS.search(text))
