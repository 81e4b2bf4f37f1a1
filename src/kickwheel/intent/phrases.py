"""The noun phrases of a statement: what stands where, and what it is called in the glossary."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kickwheel.intent.glossary import Glossary

TIME_MARK = "\x1f"
"""Stands in a text for each letter of words of time."""

_LEADING = re.compile(
    r"(?:(?:of|the|all|our|any|new|newest|latest|current|full|raw|each|these|those|a|an|incoming|daily)\s+"
    r"|(?:一下|一次|一遍|一份|[出下过]?来|过去|[下了]|所有的?|全部的?|全量的?|增量的?|最新的?|新增的?|新的|各类|各个|当前的?|我们的?|平台的?|的|对|把|将))",
    re.IGNORECASE | re.ASCII,
)
_TRAILING = re.compile(
    r"(?:\s+(?:data|tables?|records?|information|info|files?|feeds?|again|please|pls)|(?:的?(?:数据|表|信息|记录|明细|文件|全量|增量)|的|一下|[一1][次遍回趟]))$",
    re.IGNORECASE | re.ASCII,
)
_JOINTS = re.compile(r"\s*(?:,\s*and\b|、|和|及|与|以及|跟|&|,|\band\b|\bplus\b)\s*", re.IGNORECASE | re.ASCII)
_OVER = re.compile(r"^\s*(?:over|across)\s+(?=(?:in|on)?to\b)", re.IGNORECASE | re.ASCII)
"""'Copied over to' says no more than 'copied to'."""
_PREPOSITIONS = re.compile(
    r"\b(into|onto|to|from|for|with|against|by|using|via|through|per|as|so|because|in|on|at|that|which|where|whether|if|older|containing|without|between|across|before|after|during)\b"
    r"|(发?给|发送给|是否|有没有|有无|用于|以便|以供|供(?=[^,]{1,8}(?:使用|查看|分析|参考))|便于|方便|为了|根据|按照|按(?!时)|通过|看看|防止|避免|存为|保存|作为)",
    re.IGNORECASE | re.ASCII,
)
_PLACE = re.compile(
    r"(?:\s+(?:systems?|platform|database|db|bucket|topic|cluster|server|layer)|\s*(?:系统|平台|数据库|集群|桶|主题|层|端))$",
    re.IGNORECASE | re.ASCII,
)
"""What kind of place it is, behind its name."""
_ZH_TO = re.compile(r"至|到|进(?!行)|入|往|向|给|写入")
MOVING_WORDS = {"to", "into", "onto"}


@dataclass(frozen=True)
class Named:
    """A phrase as written and its slug; None: the glossary doesn't know it."""

    phrase: str
    slug: str | None


@dataclass(frozen=True)
class Objects:
    """What follows an action word."""

    things: tuple[Named, ...]
    destinations: tuple[Named, ...]
    """Where to; one without a slug stands alone."""
    rest: str
    """Sources, purposes and conditions: free text behind a preposition."""
    remark: str
    """What stands behind a comma and is neither of these."""


def clean(text: str) -> str:
    """Without marks of time and punctuation around."""
    if TIME_MARK in text.strip(f" ,、{TIME_MARK}"):
        return text
    return text.replace(TIME_MARK, " ").strip(" ,.:;、。-()[]|\"'`*")


def shown(text: str) -> str:
    """Text as a question may quote it: words of time are left out as dots."""
    return clean(re.sub(rf"\s*{TIME_MARK}[{TIME_MARK} ]*", " … ", text))


def read_objects(text: str, glossary: Glossary) -> Objects:
    """Split what follows an action word: '[the orders] to [the lake] for reporting', '[用户订单]至[数据湖]，失败重试3次'."""
    text = _without_cells(_OVER.sub(" ", text), glossary)
    text, remark = _without_remark(text, glossary)
    pieces = _PREPOSITIONS.split(text)
    head, others = pieces[0], pieces[1:]
    destinations: tuple[Named, ...] = ()
    rest: list[str] = []
    for english, chinese, phrase in zip(others[0::3], others[1::3], others[2::3], strict=True):
        reached = named_destinations(phrase, glossary)
        if not destinations and (
            (english or "").lower() in MOVING_WORDS or ((chinese or "").endswith("给") and reached and reached[0].slug)
        ):
            destinations = reached
        else:
            rest.append(f"{english or chinese}{phrase}")
    if not destinations:
        head, destinations = _chinese_destination(head, glossary)
    return Objects(named_things(head, glossary), destinations, " ".join(rest).strip(), remark)


def _without_cells(text: str, glossary: Glossary) -> str:
    """Cells of a table row: the last one may be where the data goes."""
    cells = [cell for cell in map(clean, text.split("|")) if cell and clean(cell)]
    if "|" not in text or not cells:
        return text
    if len(cells) > 1 and named_destinations(cells[-1], glossary)[0].slug:
        return f"{', '.join(cells[:-1])} to {cells[-1]}"
    return ", ".join(cells)


def _without_remark(text: str, glossary: Glossary) -> tuple[str, str]:
    """Cut at the first comma, unless a list of entities goes on behind it: 'orders, stock and profiles'."""
    head, comma, tail = text.partition(",")
    if not comma or _JOINTS.search(tail) or any(_named(clean(part), glossary).slug for part in tail.split(",")):
        return text, ""
    return head, clean(tail)


def _chinese_destination(text: str, glossary: Glossary) -> tuple[str, tuple[Named, ...]]:
    """The last place whose words are known, else the last 至 or 到: 用户订单至数据湖, but not 收入."""
    marks = list(_ZH_TO.finditer(text))
    for mark in reversed(marks):
        found = named_destinations(text[mark.end() :], glossary)
        if found[0].slug:
            return text[: mark.start()], found
    for mark in reversed(marks):
        if mark.group() in ("至", "到") and clean(text[mark.end() :]):
            return text[: mark.start()], named_destinations(text[mark.end() :], glossary)
    return text, ()


def named_destinations(text: str, glossary: Glossary) -> tuple[Named, ...]:
    """Destinations and their slugs: the whole phrase if it is known, else its parts if all are, else the phrase without one."""
    whole = named_destination(text, glossary)
    if whole.slug:
        return (whole,)
    parts = [named_destination(part, glossary) for part in map(clean, _JOINTS.split(clean(text))) if part]
    return tuple(parts) if len(parts) > 1 and all(part.slug for part in parts) else (whole,)


def named_destination(text: str, glossary: Glossary) -> Named:
    """One destination and its slug."""
    for phrase in _variants(clean(text)):
        bare = re.sub(r"[中里内上]$", "", phrase)
        for name in (bare, _PLACE.sub("", bare)):
            slug = glossary.destination(name)
            if slug:
                return Named(phrase, slug)
    return Named(clean(text), None)


def named_things(text: str, glossary: Glossary) -> tuple[Named, ...]:
    """Entities and their slugs: the whole phrase if it is known, else its parts between 'and', each for itself."""
    phrase = clean(text)
    if not phrase:
        return ()
    whole = _named(phrase, glossary)
    if whole.slug:
        return (whole,)
    parts = [part for part in map(clean, _JOINTS.split(phrase)) if part]
    return tuple(_named(part, glossary) for part in parts)


def _named(phrase: str, glossary: Glossary) -> Named:
    for variant in _variants(phrase):
        slug = glossary.entity(variant)
        if slug:
            return Named(variant, slug)
    while matched := _LEADING.match(phrase):
        phrase = clean(phrase[matched.end() :])
    return Named(phrase, None)


def compares_two(text: str) -> bool:
    """'核对订单与支付流水' may check each of them, or one against the other."""
    return bool(re.search("[与跟]", text))


def _variants(phrase: str) -> list[str]:
    """The phrase, and without words that change nothing about what is meant, one after another."""
    found = [phrase]
    while True:
        current = found[-1]
        shorter = _LEADING.sub("", current, count=1) if _LEADING.match(current) else _TRAILING.sub("", current, count=1)
        shorter = clean(shorter)
        if not shorter or shorter == current:
            return found
        found.append(shorter)
