"""Slips of the pen in words of time, of action and of politeness, put right with a note; words of data are left as they are."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

_TIME_WORDS = (
    "every", "daily", "hourly", "weekly", "monthly", "quarterly", "weekday", "weekdays", "weekend", "weekends", "monday",
    "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mondays", "tuesdays", "wednesdays", "thursdays",
    "fridays", "saturdays", "sundays", "minute", "minutes", "hours", "month", "quarter", "morning", "afternoon", "evening",
    "night", "midnight", "please", "kindly",
)  # fmt: skip
_OTHER_WORDS = (
    "because", "automatically", "incoming", "should", "department", "colleagues", "required", "between", "quarterly",
    "yearly", "working", "business", "january", "february", "april", "august", "september", "october", "november", "december",
    "second", "third", "fourth", "thanks", "regularly", "yesterday", "records", "currently", "latest",
)  # fmt: skip
_VOWELS = "aeiou"
_LONG = 6
"""Letters from which one vowel written for another is a slip, too: 'Mondey', 'weekdey'."""
_WORDS_OF_THEIR_OWN = frozenset(
    (
        "very", "ever", "moth", "lads", "copes", "coped", "coping", "heck", "hecks", "etch", "etched", "etches", "etching",
        "insect", "insects", "scrap", "scraps", "scape", "compete", "competed", "competes", "competing", "nigh", "minuet",
        "minuets", "mourning", "hose", "knight", "later", "lasts", "planks", "tanks", "wording", "woking", "shoulder",
        "recorder", "augusta", "seconds",
    )
)  # fmt: skip
"""One letter away from a word above, or from one of action, and meant as they stand."""
_ZH_SLIPS = {
    "每曰": "每日", "没天": "每天", "工做日": "工作日", "周未": "周末", "月未": "月末", "季未": "季末", "季度未": "季度末",
    "年未": "年末", "凌辰": "凌晨", "点种": "点钟", "分种": "分钟", "同歩": "同步", "教验": "校验", "效验": "校验",
    "较验": "校验", "拉去": "拉取", "倒出": "导出", "部们": "部门", "发显": "发现",
    "毎": "每", "礼败": "礼拜", "下栽": "下载", "导如": "导入", "复治": "复制", "归挡": "归档", "定单": "订单", "数剧": "数据",
}  # fmt: skip
_ZH = re.compile("|".join(sorted(_ZH_SLIPS, key=len, reverse=True)))
_WORD = re.compile(r"[A-Za-z]{4,}", re.ASCII)


def respelled(text: str, action_forms: tuple[str, ...], own_words: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """The text with slips put right, and a note for each.

    A slip is one letter left out, doubled, or swapped with the next one. ``own_words``: words that the glossary's data and
    places are made of; they are never changed.
    """
    notes: list[str] = []
    slips = _slips(action_forms)

    def english(match: re.Match[str]) -> str:
        word = match.group()
        meant = slips.get(word.lower())
        if meant is None or word.lower() in own_words:
            return word
        notes.append(f"{word!r} is read as {meant!r}")
        return meant

    def chinese(match: re.Match[str]) -> str:
        if match.group() in own_words:
            return match.group()
        meant = _ZH_SLIPS[match.group()]
        notes.append(f"{match.group()!r} is read as {meant!r}")
        return meant

    return _ZH.sub(chinese, _WORD.sub(english, text)), tuple(notes)


@lru_cache(maxsize=8)
def _slips(action_forms: tuple[str, ...]) -> dict[str, str]:
    """Slip -> word; a slip of two words is none."""
    ours = (*_TIME_WORDS, *_OTHER_WORDS)
    words = {word for word in (*ours, *action_forms) if word.isascii() and word.isalpha() and len(word) >= 4}
    owners: dict[str, set[str]] = {}
    for word in words:
        for slip in _variants(word) | (_misheard(word) if word in ours else set()):
            owners.setdefault(slip, set()).add(word)
    return {
        slip: min(found)
        for slip, found in owners.items()
        if len(found) == 1 and slip not in words and slip not in _WORDS_OF_THEIR_OWN
    }


def _misheard(word: str) -> set[str]:
    """A long word with one vowel written for another."""
    if len(word) < _LONG:
        return set()
    return {word[:at] + vowel + word[at + 1 :] for at, letter in enumerate(word) if letter in _VOWELS for vowel in _VOWELS} - {
        word
    }


def _variants(word: str) -> set[str]:
    """Ways to mistype a word; of short words only two letters in the wrong order."""
    swapped = {word[:at] + b + a + word[at + 2 :] for at, (a, b) in enumerate(pairwise(word)) if a != b}
    if len(word) < 5:
        return swapped
    shorter = {word[:at] + word[at + 1 :] for at in range(1, len(word) - 1)}
    doubled = {word[:at] + word[at] + word[at:] for at in range(len(word))}
    return swapped | shorter | doubled
