"""How English tells the time of day."""

from __future__ import annotations

import re

from kickwheel.intent.time_tokens import Between, Clock, Clocks, Entry, Meaning, PartOfDay, Unclear, entry

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TENS = {"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
_FIVES = {f"{tens}-five": _TENS[tens] + 5 for tens in ("twenty", "thirty", "forty", "fifty")}
NUMBERS = {word: value for value, word in enumerate(_WORDS)} | _TENS | _FIVES | {
    "a": 1, "an": 1, "other": 2, "second": 2, "third": 3, "fourth": 4, "once": 1, "twice": 2,
}  # fmt: skip
"""Small numbers in words, with the words that count something."""
NUMBER = rf"(?:\d+|{'|'.join([*_FIVES, *_WORDS[1:], *_TENS])})"
AMPM = r"(?P<half>[ap])\.?\s?m\b\.?"
_HOUR = rf"(?:{'|'.join(sorted(_WORDS[1:], key=len, reverse=True))})"
_FIVE = "|".join(five.replace("-", "[ -]") for five in _FIVES)
_MINUTE = rf"(?P<m>(?:oh|o)[\s-]five|{_FIVE}|ten|fifteen|twenty|thirty|forty|fifty|five)"
_PAST = (
    r"(?P<part>half|(?:a\s+)?quarter|(?:five|ten|twenty|twenty[ -]five|2[05]|\d{1,2}(?=\s+(?:past|min)))(?:\s+min(?:ute)?s?)?)"
)
_IMPOSSIBLE_HOUR = 99
"""13pm: refused when the times are settled."""


def number(text: str) -> int:
    """Value of what :data:`NUMBER` matched."""
    return int(text) if text.isdecimal() else NUMBERS[text.lower().replace(" ", "-")]


def _clock(match: re.Match[str]) -> Meaning:
    return Clocks((_with_half(int(match["h"]), int(match["m"] or 0), match["half"]),))


def _with_half(hour: int, minute: int, half: str | None) -> Clock:
    if half is None:
        return Clock(hour, minute)
    half = f"{half.lower()}m"
    if not 1 <= hour <= 12:
        return Clock(_IMPOSSIBLE_HOUR, minute, half)
    return Clock(hour % 12 + (12 if half == "pm" else 0), minute, half)


def _bare_list(match: re.Match[str]) -> Meaning:
    times = [part.replace(".", ":").partition(":") for part in re.findall(r"\d{1,2}(?:[:.]\d{2})?", match["times"])]
    return Clocks(tuple(Clock(int(hour), int(minute or 0)) for hour, _, minute in times))


def _worded(match: re.Match[str]) -> Meaning:
    words = match["m"] or "zero"
    minute = 5 if words.lower().startswith("o") else number(words)
    return Clocks((_with_half(number(match["h"]), minute, match["half"]),))


def _spoken(match: re.Match[str]) -> Meaning | None:
    """'Quarter past eight', 'ten to six', 'half past noon'."""
    named = {"noon": 12, "midnight": 24 if match["side"].lower() == "to" else 0}.get(match["h"].lower())
    hour = number(match["h"]) if named is None else named
    words = re.sub(r"^a\s+|\s+min(?:ute)?s?$", "", match["part"].lower())
    minutes = {"half": 30, "quarter": 15}.get(words) or number(words)
    if not 1 <= minutes <= 59 or (words == "half" and match["side"].lower() == "to"):
        return None
    before = match["side"].lower() == "to"
    clock = Clock(hour - 1, 60 - minutes) if before else Clock(hour, minutes)
    if named is not None:
        return Clocks((Clock(clock.hour, clock.minute, "exact"),))
    if match["half"] and before and hour == 12:
        return Clocks((_with_half(11, 60 - minutes, "p" if match["half"].lower() == "a" else "a"),))
    if before and hour == 1:
        return Unclear("Which hour is that, in 24 hours?")
    return Clocks((_with_half(clock.hour, clock.minute, match["half"]),))


def _between(match: re.Match[str]) -> Meaning:
    ends = [_with_half(int(match[f"h{end}"]), int(match[f"m{end}"] or 0), match[f"half{end}"]) for end in "12"]
    return Between(ends[0], ends[1])


_NO_HALF = r"(?P<half>(?!))?"
FIGURES: tuple[Entry, ...] = (
    entry(
        r"(?<![\d:.])\d{1,2}:\d{2}\s?\+\d{2}:?\d{2}\b",
        Unclear("In which IANA time zone, e.g. Europe/Berlin?", reason="ambiguous_zone"),
    ),
    entry(
        rf"(?<![\d:.])(?P<h>\d{{1,2}}):(?P<m>[0-5]\d)(?::00)?(?!\d|:\d)(?:\s*(?:h|hrs|hours|o'?clock)\b)?{_NO_HALF}",
        _clock,
    ),
    entry(
        r"(?:\bat\s+|@\s*)(?P<times>\d{1,2}(?:[:.]\d{2})?(?:(?:\s*,\s*and\s+|\s*,\s*|\s+and\s+|\s*&\s*)\d{1,2}(?:[:.]\d{2})?)*)"
        r"(?:\s*(?:o'?clock|sharp))?(?![\d:.%]*\d|%|\s*(?:[ap]\.?m\b|percent|minutes?\b|mins?\b|hours?\b|past\b|(?:to|through|thru|till|until)\s+(?:\d|noon\b|midnight\b)|-\s*\d|h\b|h\d|/))",
        _bare_list,
    ),
)
"""What needs no letter, and is therefore looked for in every text: 18:00, '@ 9'."""
CLOCK_EN: tuple[Entry, ...] = (
    entry(rf"(?<![\d:.])(?P<h>\d{{1,2}})(?:[:.h](?P<m>[0-5]\d))?\s*{AMPM}(?!\s*/)", _clock),
    entry(rf"\bat\s+(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)\b(?:\s*(?:h|hrs|hours)\b)?(?![:.]\d|\s*[ap]\.?m){_NO_HALF}", _clock),
    entry(rf"(?<![\d:.])(?P<h>[0-2]\d)(?P<m>[0-5]\d)\s*(?:h|hrs|hours)\b{_NO_HALF}", _clock),
    entry(rf"(?<![\d:.])(?<!every )(?<!each )(?P<h>\d{{1,2}})h(?P<m>[0-5]\d)?\b{_NO_HALF}", _clock),
    entry(r"(?P<times>(?<![\d:.])\d{1,2})\s*o'?clock", _bare_list),
    entry(
        r"(?<![\d:.])\b(?P<times>\d{1,2}(?:[:.]\d{2})?)(?=\s+(?:in\s+the\s+(?:morning|afternoon|evening)|at\s+night)\b)",
        _bare_list,
    ),
    entry(
        rf"\bat\s+(?P<h>{_HOUR})(?:[\s-]+{_MINUTE}|\s+o'?clock)?\b(?!\s+(?:minutes?|mins?|hours?|past|to)\b)(?:\s*{AMPM})?",
        _worded,
    ),
    entry(rf"\b(?P<h>{_HOUR})\s+o'?clock(?P<m>(?!))?(?:\s*{AMPM})?", _worded),
    entry(rf"\b(?P<part>half|(?:a\s+)?quarter)\s+(?P<side>past|to)\s+(?P<h>{NUMBER}|noon|midnight)\b(?:\s*{AMPM})?", _spoken),
    entry(rf"\bat\s+{_PAST}\s+(?P<side>past|to)\s+(?P<h>{_HOUR}|\d{{1,2}}|noon|midnight)\b(?:\s*{AMPM})?", _spoken),
    entry(
        r"\b(?:from|between)\s+(?P<h1>\d{1,2})(?::(?P<m1>[0-5]\d))?(?:\s*(?P<half1>[ap])\.?\s?m\b\.?)?\s*(?:to|and|-|until|till|through)"
        r"\s*(?P<h2>\d{1,2})(?::(?P<m2>[0-5]\d))?(?:\s*(?P<half2>[ap])\.?\s?m\b\.?)?(?!\d|:\d|\s*[ap]\.?m\b|\s*(?:minutes?|mins?)\b)",
        _between,
    ),
    entry(r"\b(?:at\s+)?12\s+noon\b", Clocks((Clock(12, 0, "exact"),))),
    entry(r"\b(?:at\s+)?12\s+midnight\b", Clocks((Clock(24, 0),))),
    entry(r"\b(?:noon|midday)\b", Clocks((Clock(12, 0, "exact"),))),
    entry(r"\bmidnight\b", Clocks((Clock(24, 0),))),
    *(entry(rf"\bin\s+the\s+{part}\b", PartOfDay(part)) for part in ("morning", "afternoon", "evening")),
    *(
        entry(rf"(?<=day ){part}s?\b|(?<=weekend ){part}s?\b", PartOfDay(part, whole=True))
        for part in ("morning", "afternoon", "evening", "night")
    ),
    *(
        entry(rf"(?<=every )(?<!\w){part}s?\b|(?<=each ){part}s?\b", PartOfDay(part, whole=True))
        for part in ("morning", "afternoon", "evening")
    ),
    entry(r"(?<=every )night\b|(?<=each )night\b|\bnightly\b", PartOfDay("night", whole=True)),
    entry(r"\b(?:at\s+)?night\b", PartOfDay("night")),
    entry(
        r"\b(?:around|about|approximately|approx\.?|roughly|circa|by|before|after|past|no\s+later\s+than|not\s+before|at\s+the\s+latest)\s+(?=\d|noon\b|midnight\b|midday\b)"
        r"|(?<=\d)\s?-?ish\b",
        Unclear("At exactly which time?"),
    ),
)
