"""Settles clock times: which part of the day each belongs to, and which two of them are a range."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kickwheel.intent.recurrence import DAY
from kickwheel.intent.time_refused import TimeRefused
from kickwheel.intent.time_tokens import Between, Clock, Clocks, PartOfDay, Span, Times, Token

_TO = re.compile(r"\s*(?:[到至~-]|to|until|till|through)\s*", re.IGNORECASE | re.ASCII)
_AND = re.compile(r"\s*and\s*", re.IGNORECASE | re.ASCII)
_BETWEEN = re.compile(r"between\s*$", re.IGNORECASE | re.ASCII)


def settle_clocks(text: str, tokens: Sequence[Token]) -> list[Token]:
    """The tokens with every clock time as :class:`Times` or :class:`Span`; parts of the day that no time belongs to stay.

    A time belongs to the part of the day that it touches (早上8点, "6 in the evening"), else to the last one before it
    (早上8点、10点), else to the one of the whole statement (每晚8点, "every night at 2"). Without any it is in 24 hours.

    Raises:
        TimeRefused: no such time, or two readings of one.
    """
    settled = _with_parts(text, tokens)
    return _with_ranges(text, settled)


def _with_parts(text: str, tokens: Sequence[Token]) -> list[Token]:
    whole = [token.meaning for token in tokens if isinstance(token.meaning, PartOfDay) and token.meaning.whole]
    in_halves = any(clock.half in ("am", "pm") for token in tokens for clock in _clocks(token))
    carried = whole[0] if whole else None
    unclaimed = list(whole)
    settled: list[Token] = []
    for token in tokens:
        previous = settled[-1] if settled else None
        if previous and token.start < previous.end:
            continue  # a part of the day that the time before it has taken
        if not _clocks(token):
            settled.append(token)
            continue
        own, start, end = None, token.start, token.end
        after = _part_after(text, token, tokens)
        if after and isinstance(after.meaning, PartOfDay):
            own, end = after.meaning, after.end
        elif previous and isinstance(previous.meaning, PartOfDay) and not text[previous.end : start].strip(" 的"):
            own = previous.meaning
            start = start if own.whole else settled.pop().start
        minutes = [_minute_of(clock, own, carried, in_halves) for clock in _clocks(token)]
        _refuse_contradiction(_clocks(token), minutes, own or (carried if carried in unclaimed else None))
        _refuse_going_back(_clocks(token), minutes, own, carried, settled)
        unclaimed = [part for part in unclaimed if part not in (own, None if own else carried)]
        is_span = isinstance(token.meaning, Between)
        meaning = Span(minutes[0], minutes[1]) if is_span else Times(tuple(sorted(set(minutes))))
        settled.append(Token(meaning, start, end, text[start:end]))
        carried = own or carried
    if unclaimed and len(unclaimed) < len(settled) and any(isinstance(token.meaning, Times) for token in settled):
        raise TimeRefused(
            f"The {unclaimed[0].name} is named, and a time in another part of the day: which counts?", "contradiction"
        )
    return settled


def _refuse_contradiction(clocks: Sequence[Clock], minutes: Sequence[int], part: PartOfDay | None) -> None:
    """'Every evening at 9am', 下午3:00am, 'every morning at 20:00'."""
    for clock, minute in zip(clocks, minutes, strict=True):
        if part and clock.half != "exact" and not any(first <= minute <= last for first, last in _MINUTES_IN[part.name]):
            raise TimeRefused(f"Is {clock.hour}:{clock.minute:02d} meant, or the {part.name}?", "contradiction")


def _refuse_going_back(
    clocks: Sequence[Clock], minutes: Sequence[int], own: PartOfDay | None, carried: PartOfDay | None, settled: Sequence[Token]
) -> None:
    """'Every morning at 9 and 3': in a list that does not go forward the last one may be in another part of the day."""
    earlier = [minute for token in settled if isinstance(token.meaning, Times) for minute in token.meaning.minutes]
    part = own or carried
    for index, (clock, minute) in enumerate(zip(clocks, minutes, strict=True)):
        bare = (own is None or index > 0) and not clock.half and clock.hour <= 12
        if part and bare and earlier and minute <= earlier[-1]:
            raise TimeRefused(f"Is {clock.hour}:{clock.minute:02d} in the {part.name} too?")
        earlier.append(minute)


def _clocks(token: Token) -> tuple[Clock, ...]:
    if isinstance(token.meaning, Between):
        return (token.meaning.first, token.meaning.last)
    return token.meaning.times if isinstance(token.meaning, Clocks) else ()


def _part_after(text: str, clock: Token, tokens: Sequence[Token]) -> Token | None:
    """English puts the part of the day behind: 'at 6 in the evening'."""
    for token in tokens:
        if token.start >= clock.end and isinstance(token.meaning, PartOfDay):
            close = not text[clock.end : token.start].strip()
            return token if close and token.text[0].isascii() else None
    return None


def _with_ranges(text: str, tokens: Sequence[Token]) -> list[Token]:
    merged: list[Token] = []
    for token in tokens:
        first = merged[-1] if merged else None
        if first and isinstance(first.meaning, Times) and isinstance(token.meaning, Times) and _is_range(text, first, token):
            span = Span(first.meaning.minutes[-1], token.meaning.minutes[0])
            merged[-1] = Token(span, first.start, token.end, text[first.start : token.end])
        else:
            merged.append(token)
    return merged


def _is_range(text: str, first: Token, last: Token) -> bool:
    gap = text[first.end : last.start]
    return bool(_TO.fullmatch(gap)) or bool(_AND.fullmatch(gap) and _BETWEEN.search(text[: first.start]))


def _minute_of(clock: Clock, own: PartOfDay | None, carried: PartOfDay | None, in_halves: bool) -> int:
    """Minutes from midnight of a time with the part of the day that touches it, or that was named before it."""
    hour, minute = clock.hour, clock.minute
    if hour > 24 or minute > 59 or (hour == 24 and minute):
        raise TimeRefused("Which time is meant? Hours go from 0 to 23, minutes to 59.", "invalid_schedule")
    part = own or carried
    if clock.half or (own is None and hour > 12):
        return hour * 60 + minute
    if part is None:
        if in_halves:
            raise TimeRefused(f"Is {hour}:{minute:02d} in the morning or in the afternoon?")
        return hour * 60 + minute
    shifted = _HOUR_IN[part.name](hour)
    if shifted is None:
        raise TimeRefused(f"Which hour of the day is {hour}:{minute:02d} in the {part.name}?")
    return shifted * 60 + minute


def _in_12(hour: int, first: int, last: int) -> int | None:
    """An afternoon or evening hour in either way of counting, 24 for midnight; None outside ``first`` to ``last``."""
    if hour == 0:
        return 24 if last == 24 else None
    counted = 24 if hour == 12 and first > 12 else hour + 12 if hour < 12 else hour
    return counted if first <= counted <= last else None


_HOUR_IN: dict[str, Callable[[int], int | None]] = {
    "small hours": lambda hour: 0 if hour == 12 else hour if hour < 7 else None,
    "morning": lambda hour: hour if hour < 12 else None,
    "noon": lambda hour: hour if hour == 11 else _in_12(hour, 12, 14),
    "afternoon": lambda hour: _in_12(hour, 12, 18),
    "evening": lambda hour: _in_12(hour, 17, 24),
    "night": lambda hour: hour + 24 if hour < 6 else _in_12(hour, 20, 24),
}
"""Hour of the day of a figure in a part of the day, from 24 on after the midnight that ends it; None: nobody says that,
or it may be two."""
_MINUTES_IN = {
    "small hours": ((0, 7 * 60),),
    "morning": ((0, DAY // 2 - 1),),
    "noon": ((11 * 60, 15 * 60),),
    "afternoon": ((12 * 60, 19 * 60),),
    "evening": ((16 * 60, DAY + 60),),
    "night": ((0, 6 * 60), (19 * 60, DAY + 6 * 60)),
}
"""Minutes from midnight that a part of the day may hold, generously: outside of them two words contradict each other."""
