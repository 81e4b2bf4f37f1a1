"""What stands around words of time and changes them: no schedule says 'by', 'odd' or 'the day before', so each is refused.

Words of time also tell of other things than the run: which data is meant (8点的订单), when a reader needs it ('ready at
10'), when a failed run is tried again. Times that stand apart from each other are therefore never put together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kickwheel.intent.time_refused import TimeRefused
from kickwheel.intent.time_tokens import (
    Between,
    Clocks,
    DataPeriod,
    Every,
    InZone,
    Meaning,
    MonthDays,
    NthOfMonth,
    PartOfDay,
    Token,
    WeekDays,
)

_FLAGS = re.IGNORECASE | re.ASCII
_DAYS, _CLOCKS = WeekDays | MonthDays | NthOfMonth, Clocks | Between
_COUNTED = r"(?:first|second|third|fourth|fifth|next|last|\d{1,2}(?:st|nd|rd|th)?)"
_AND_COUNTED = rf"\b{_COUNTED}\s*(?:,|\band\b|\bor\b|&|/|\bto\b|-)\s*(?:the\s+)?"
_BEFORE = re.compile(
    r"(?:\b(?:by|before|after|since|until|till|through|around|about|roughly|approximately|almost|nearly|within|not|never|non|but|than|except"
    r"|odd|even|alternat\w+|bi|semi|half|latest|earliest|some|most|few|against|following|preceding|as\s+of|up\s+to|or"
    r"|(?:eve|days?|weeks?|hours?|mornings?|nights?)\s+(?:of|before|after)|of)\s*-?\s*(?:on\s+|at\s+)?(?:the\s+|a\s+)?"
    r"|\bfrom\s+(?:the\s+)?"
    f"|{_AND_COUNTED}"
    r"|(?:将近|接近|临近|差不多|大致|不|非|避开|跳过|(?<![清删])除了?|[双单奇偶]数|逢[双单])\s*)$",
    _FLAGS,
)
"""Right before words of time: it bounds them, or picks some of them."""
_COUNTING_ON = re.compile(f"{_AND_COUNTED}$", _FLAGS)
_AFTER_DAYS = re.compile(
    r"\s*(?:的?前(?![端台缀])|之前|以前|之?内(?!部|容|网)|以内|[三二两\d]\s*天前|起(?!来)|'s\b|(?<=s)'(?=\s))"
    r"|\s*(?:,|\band\b|\bor\b|&)\s*\d{1,2}(?:st|nd|rd|th)?\b(?!\s*(?:[:.点时]|[ap]\.?m\b|o'clock))",
    _FLAGS,
)
"""Right behind words for days."""
_SINCE = re.compile(r"[从自]\s*$")
_STARTS = re.compile(r"\s*(?:的)?(?:开始|起)")
_PURPOSE = re.compile(
    r"\b(?:for|so|because|since|ensur\w+|retr(?:y|ies)|failure|due|created|ready)\b"
    r"|供(?![应给货销需])|以便|便于|方便|用于|确保|保证|避免|防止|失败|出错|重试|重跑|因为|由于",
    _FLAGS,
)
"""What leads to a purpose, a reason or a second try."""
_AVOIDS = re.compile(r"避免|防止|避开|\bavoid\w*", _FLAGS)
_TIES = re.compile(
    r"[\s,、和及与跟/&+()\[\]:;~-]|\b(?:and|at|on|the|to|then|in|plus|from|between|again|of|every|each|day|as|well)\b"
    r"|[的在于各再又到至整]|分别|以及|还有|固定|统一|执行|运行",
    _FLAGS,
)
"""What may stand between words of time that belong together."""


def refuse_bounded(text: str, tokens: Sequence[Token]) -> None:
    """Refuse words of time that something around them bounds, and times that stand apart.

    Args:
        tokens: those of ``text`` that tell when, with clock times not settled yet.

    Raises:
        TimeRefused: see the module.
    """
    timed = [token for token in tokens if not isinstance(token.meaning, DataPeriod | InZone)]
    for index, token in enumerate(timed):
        before = text[timed[index - 1].end if index else 0 : token.start]
        after = text[token.end : timed[index + 1].start if index + 1 < len(timed) else len(text)]
        _refuse_neighbours(token, before, after)
        _refuse_purpose(text, token, timed)
    for kind in (_DAYS, _CLOCKS):
        _refuse_apart(text, [token for token in timed if isinstance(token.meaning, kind)], timed)


def _refuse_neighbours(token: Token, before: str, after: str) -> None:
    if isinstance(token.meaning, PartOfDay):
        return
    if isinstance(token.meaning, _DAYS) and (found := _AFTER_DAYS.match(after)):
        raise TimeRefused(f"What does {token.text.strip() + found.group()!r} mean: on which days exactly?")
    if isinstance(token.meaning, _DAYS) and _SINCE.search(before) and _STARTS.match(after):
        raise TimeRefused("A beginning or an end can't be scheduled yet: is it every time from now on?")
    bound = _BEFORE.search(before)
    if bound and (isinstance(token.meaning, _DAYS | Every) or not _COUNTING_ON.search(before)):
        raise TimeRefused(f"What does {(bound.group() + token.text).strip()!r} mean: at which times exactly?")


def _refuse_purpose(text: str, token: Token, timed: Sequence[Token]) -> None:
    """'Every day at 9 for the meeting at 10': the second time is not the task's."""
    letters = list(text[: token.start])
    for other in timed:
        letters[other.start : other.end] = (
            " " * (min(other.end, token.start) - other.start) if other.start < token.start else ""
        )
    piece = re.split(r"[,;]", "".join(letters))[-1]
    found = _PURPOSE.search(piece)
    if found is None:
        return
    at = token.start - len(piece) + found.start()
    if _AVOIDS.search(piece) or any(other.end <= at for other in timed):
        raise TimeRefused(f"Is {token.text.strip()!r} a time at which the task runs? {found.group()!r} stands before it.")


def _refuse_apart(text: str, found: Sequence[Token], timed: Sequence[Token]) -> None:
    """Two times, or two sets of days, with other words between them."""
    for first, last in pairwise(found):
        if _same(first.meaning, last.meaning):
            continue
        between = list(text[first.end : last.start])
        for token in timed:
            if first.end <= token.start and token.end <= last.start:
                between[token.start - first.end : token.end - first.end] = " " * (token.end - token.start)
        if _TIES.sub("", "".join(between)):
            raise TimeRefused(
                f"Does the task run at {first.text.strip()!r}, at {last.text.strip()!r}, or at both?", "contradiction"
            )


def _same(first: Meaning, last: Meaning) -> bool:
    if isinstance(first, WeekDays) and isinstance(last, WeekDays):
        return first.days == last.days
    return first == last
