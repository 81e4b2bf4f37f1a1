"""The clauses of a statement: each action with the words before and after it, words of time marked in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kickwheel.intent.glossary import Glossary
from kickwheel.intent.phrases import TIME_MARK, clean
from kickwheel.intent.statement_words import CONDITION, EN_BEFORE, EN_PASSIVE, LIMITS, REASON, SEPARATOR, ZH_BEFORE
from kickwheel.intent.time_tokens import Token

_LABEL = (
    r"(?:(?:执行|调度|运行|更新|同步|触发)?(?:频率|频次|周期|时间点?|时点)|(?:按照?\s*)?(?:cron|定时|调度)?\s*表达式"
    r"|\b(?:cron(?:\s+(?:expression|schedule))?|frequency|schedule|cadence|timing|run\s+time|when|time)\b)"
)
"""What introduces a time: 频率为, 'schedule:'."""


@dataclass(frozen=True)
class Clause:
    """One action with the words before and after it; ``start`` and ``end`` are its place in the statement."""

    action: str
    word: str
    before: str
    after: str
    start: int
    end: int


def visible(text: str) -> str:
    """Text without its marks of time."""
    return " ".join(clean(text.replace(TIME_MARK, " ")).split())


def blank(text: str, tokens: Sequence[Token]) -> str:
    """The text with words of time, and the small words that tie them to it, marked letter by letter."""
    letters = list(text)
    for token in tokens:
        letters[token.start : token.end] = TIME_MARK * (token.end - token.start)
    blanked = "".join(letters)
    mark = re.escape(TIME_MARK)
    tied = (
        rf"(?:\b(?:at|on|in|of|from|between|during|for|within)\s+|@\s*)?(?:\bthe\s+)?(?={mark})|(?:按照?|以|[在于从自])\s*(?={mark})"
        rf"|(?<={mark})[\s,、和及与在的到至~/:-]*(?:\b(?:and|to|at|on|until|till)\b\s*)?(?={mark})"
        rf"|(?<={mark})\s*(?:的|时间|开始|准时|整|各?[一1]次|频率|频次|周期|之?内|期间|之间|都要?|sharp\b|time\b)"
        rf"|{_LABEL}\s*(?:是|为|在|设为|设在|定在|\bis\b|\bat\b)?\s*[:,=]?\s*(?={mark})|[(\[【]\s*(?={mark})|(?<={mark})\s*[)\]】]"
    )
    blanked = re.sub(tied, lambda match: TIME_MARK * len(match.group()), blanked, flags=re.IGNORECASE | re.ASCII)
    return re.sub(tied, lambda match: TIME_MARK * len(match.group()), blanked, flags=re.IGNORECASE | re.ASCII)


def without_reason(blanked: str, glossary: Glossary) -> str:
    """A leading clause that says why is no part of the task, unless it names a time, a condition or an exception."""
    reason = REASON.match(blanked)
    if reason is None or TIME_MARK in reason.group() or CONDITION.search(reason.group()):
        return blanked
    if LIMITS.search(reason.group()) or (_MEANT.match(reason.group()) and glossary.action_pattern.search(reason.group())):
        return blanked
    rest = blanked[reason.end() :]
    return " " * reason.end() + rest if glossary.action_pattern.search(rest) else blanked


_MEANT = re.compile(r"\s*(?:in\s+order\s+)?to\b", re.IGNORECASE | re.ASCII)
"""'To validate claims, …' may ask for the validation too."""
_AUXILIARY = re.compile(r"(?:gets?|getting)\s+(?:automatically\s+)?\w+(?:ed|sent)\b", re.IGNORECASE | re.ASCII)
"""'Get' that only makes a passive: 'orders get synced'."""


def _only_helps(blanked: str, match: re.Match[str], glossary: Glossary) -> bool:
    """'Get' in 'orders get synced' and in 'can we get the orders synced'."""
    if _AUXILIARY.match(blanked, match.start()):
        return True
    if match.group().lower() != "get":
        return False
    done = glossary.action_pattern.search(blanked, match.end())
    return bool(
        done
        and done.group().lower().endswith(("ed", "sent"))
        and clean(blanked[match.end() : done.start()])
        and not SEPARATOR.search(blanked[match.end() : done.start()])
    )


def inside(span: tuple[int, int], names: Sequence[tuple[int, int]]) -> bool:
    """Whether a name covers the span, and more."""
    return any(first <= span[0] and span[1] <= last and span != (first, last) for first, last in names)


def read_clauses(blanked: str, glossary: Glossary, names: Sequence[tuple[int, int]]) -> list[Clause]:
    """One clause an action word. An action word that no separator leads to is part of what the one before acts on."""
    clauses: list[Clause] = []
    start, action_end, action, word = 0, 0, "", ""
    for match in glossary.action_pattern.finditer(blanked):
        if inside(match.span(), names) or _only_helps(blanked, match, glossary):
            continue
        if not action:
            action, word = glossary.action_of(match.group()), match.group()
            action_start, action_end = match.start(), match.end()
            continue
        between = blanked[action_end : match.start()]
        separators = [sep for sep in SEPARATOR.finditer(between) if _only_fillers(between[sep.end() :])]
        if not separators:
            continue
        split = action_end + separators[0].start()
        clauses.append(Clause(action, word, blanked[start:action_start], blanked[action_end:split], start, split))
        start = action_end + separators[0].end()
        action, word = glossary.action_of(match.group()), match.group()
        action_start, action_end = match.start(), match.end()
    if action:
        clauses.append(Clause(action, word, blanked[start:action_start], blanked[action_end:], start, len(blanked)))
    return clauses


def _only_fillers(text: str) -> bool:
    words = " ".join(text.replace(TIME_MARK, " ").split())
    return bool(EN_BEFORE.fullmatch(words) or ZH_BEFORE.fullmatch(words) or EN_PASSIVE.fullmatch(f"{words} "))
