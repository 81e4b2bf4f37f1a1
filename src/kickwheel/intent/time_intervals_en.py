"""How English tells intervals: 'every 15 minutes', 'hourly at :20', 'three times a day'."""

from __future__ import annotations

import re

from kickwheel.intent.time_clock_en import NUMBER, number
from kickwheel.intent.time_tokens import Entry, Every, Meaning, PerDay, Unclear, entry

SEP = r"\s*(?:,\s*and\b|,|and\b|&|/|\+)\s*"
"""Between the parts of a list."""
_COUNTS = {"once": 1, "twice": 2, "two": 2, "three": 3, "four": 4, "five": 5}
MANY = rf"(?:once|twice|{NUMBER}\s+times)"
"""A number of times that is announced."""


def if_counted(match: re.Match[str], meaning: Meaning, found: int) -> Meaning:
    """A number that is announced ('twice a week') must be the one that is named."""
    announced = (match["count"] or "").lower().split()
    if announced and _COUNTS.get(announced[0], number(announced[0])) != found:
        return Unclear(f"{announced[0]} is announced, {found} named: which is right?")
    return meaning


def _every(match: re.Match[str]) -> Meaning:
    unit = 60 if match["unit"].lower().startswith("h") else 1
    if match["decimal"]:
        amount = float(match["decimal"]) * unit
        return Every(int(amount)) if amount == int(amount) else Unclear("How many whole minutes apart?")
    return Every((number(match["n"]) if match["n"] else 1) * unit)


_PAST_WORDS = {"quarter": 15, "half": 30}


def _past_hour(match: re.Match[str]) -> Meaning:
    """'At 10 and 40 minutes past the hour', 'every hour at :15', 'at quarter past every hour'."""
    found = re.findall(rf"quarter|half|{NUMBER}", match["past"], re.IGNORECASE)
    minutes = {_PAST_WORDS.get(word.lower()) or number(word) for word in found}
    if "count" in match.re.groupindex and match["count"]:
        return if_counted(match, Every(60, at=tuple(sorted(minutes))), len(minutes))
    return Every(60, at=tuple(sorted(minutes)))


_HOURLY = r"(?:(?:once\s+)?(?:hourly|(?:every|each|per)\s+(?:single\s+)?hour))"
_MINUTES = rf"(?:{NUMBER}|(?:a\s+)?(?:quarter|half))"
_MINUTE_LIST = rf"{_MINUTES}(?:\s*(?:minutes?|mins?))?(?:{SEP}(?:at\s+)?{_MINUTES})*"
INTERVALS_EN: tuple[Entry, ...] = (
    entry(
        rf"\b(?:once\s+)?(?:every|each)\s+(?:single\s+)?(?:(?P<decimal>\d+\.\d+)|(?P<n>{NUMBER}|other|second|third|fourth)(?:st|nd|rd|th)?)?"
        r"[\s-]*(?P<unit>min(?:ute)?s?|hours?|hrs?|(?<=\d)h|(?<=\d )h|(?<=\d)m)\b",
        _every,
    ),
    entry(
        rf"\b(?:at|in)\s+(?P<decimal>(?!))?(?P<n>{NUMBER})[\s-]+(?P<unit>min(?:ute)?|hour)s?\s+intervals\b|\b(?:at\s+)?intervals\s+of\s+(?P<n2>{NUMBER})\s+(?P<unit2>minutes|hours)\b",
        lambda m: Every(number(m["n"] or m["n2"]) * (60 if (m["unit"] or m["unit2"]).lower().startswith("h") else 1)),
    ),
    entry(rf"\b{_HOURLY}\b|\bonce\s+(?:an|every|per)\s+hour\b", Every(60)),
    entry(r"\b(?:every\s+half[\s-](?:an?\s+)?hour|half[\s-]?hourly|every\s+half-hour|each\s+half[\s-]hour)\b", Every(30)),
    entry(r"\b(?:every|each)\s+(?:quarter\s+(?:of\s+an\s+)?hour|quarter-hour)\b", Every(15)),
    entry(r"\bevery\s+(?:hour\s+and\s+a\s+half|one\s+and\s+a\s+half\s+hours)\b", Every(90)),
    entry(
        rf"\b{_HOURLY}\s*,?\s*(?:at|on)\s+(?:(?:the\s+)?minutes?\s+|:)(?P<past>\d{{1,2}}(?:{SEP}(?:at\s+)?:?\d{{1,2}})*)(?![\d:])",
        _past_hour,
    ),
    entry(
        rf"\b{_HOURLY}\s*,?\s*(?:at|on)\s+(?P<past>{_MINUTE_LIST})(?:\s*(?:minutes?|mins?))?\s+past(?:\s+(?:the|every|each)\s+hour)?\b(?!\s+\w*\d)",
        _past_hour,
    ),
    entry(
        rf"(?:\b(?P<count>once|twice|{NUMBER}\s+times)\s+(?:an|per|every|each)\s+hour\s*[,:(]?\s*)?(?:\b(?:at|on)\s+)?\b(?P<past>{_MINUTE_LIST})(?:\s*(?:minutes?|mins?))?\s+past\s+(?:the|every|each)\s+hour\b",
        _past_hour,
    ),
    entry(
        rf"\b(?P<count>twice|{NUMBER}\s+times)\s+(?:an|per|every|each)\s+hour\s*[,:(]?\s*(?:at\s+)(?P<past>{_MINUTE_LIST})(?:\s*(?:minutes?|mins?))?\s+past\b(?!\s+\w*\d)",
        _past_hour,
    ),
    entry(
        rf"\b(?P<count>twice|{NUMBER}\s+times)\s+(?:an|per|every|each)\s+hour\s*[,:(]?\s*at\s+(?P<past>:\d\d(?:{SEP}(?:at\s+)?:\d\d)+)",
        _past_hour,
    ),
    entry(rf"\b(?:{_HOURLY}\s*,?\s*)?on\s+the\s+hour\b", Every(60, at=(0,))),
    entry(rf"\b(?:{_HOURLY}\s*,?\s*)?(?:on|at)\s+the\s+half[\s-]hour\b", Every(60, at=(30,))),
    entry(
        r"\b(?P<n>\d+)\s?[x×]\s*(?:a|per|each|every|/)\s*day\b|\b(?P<d>\d+)\s?[x×]\s*daily\b",
        lambda m: PerDay(int(m["n"] or m["d"])),
    ),
    entry(
        rf"\b(?P<n>{MANY})\s+(?:a|per|each|every)\s+day\b|\b(?P<d>{MANY})\s+daily\b",
        lambda m: PerDay(number((m["n"] or m["d"]).split()[0])),
    ),
)
