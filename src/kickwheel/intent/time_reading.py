"""What a statement's words of time mean together: a schedule, nothing, or a question. Never a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from kickwheel.intent.clock_reading import settle_clocks
from kickwheel.intent.cron_text import CronRefused, read_cron
from kickwheel.intent.glossary import Glossary, Window
from kickwheel.intent.recurrence import ALL_MONTHS, DAY, EVERY_DAY, WORKWEEK, Days, Monthly, NthDay, Recurrence, Stride, Weekly
from kickwheel.intent.time_bounds import refuse_bounded
from kickwheel.intent.time_clock_en import FIGURES
from kickwheel.intent.time_questions_en import EN_QUESTIONS
from kickwheel.intent.time_questions_zh import ZH_QUESTIONS
from kickwheel.intent.time_refused import TimeRefused
from kickwheel.intent.time_tokens import (
    Clocks,
    CronWords,
    DataPeriod,
    Entry,
    Every,
    InZone,
    Loose,
    MonthDays,
    Named,
    NthOfMonth,
    OnRequest,
    PartOfDay,
    PerDay,
    Span,
    Times,
    Token,
    Unclear,
    WeekDays,
    entry,
    find_tokens,
)
from kickwheel.intent.time_words_en import EN
from kickwheel.intent.time_words_zh import ZH
from kickwheel.intent.time_words_zone import CRON, ZONE

Kind = TypeVar("Kind")
_LETTER = re.compile("[A-Za-z]")
_FEW_DAYS = 2
"""So many days of the week are no stretch of days that 'every day' could run through."""
_AND = re.compile(r"[和及与]|\band\b|&", re.IGNORECASE | re.ASCII)
_ONLY_AND = re.compile(r"\s*(?:[和及与、&,]|,?\s*and\b)\s*", re.IGNORECASE | re.ASCII)
_DAYS, _TIMES = WeekDays | MonthDays | NthOfMonth, Times | Span


@dataclass(frozen=True)
class TimeReading:
    """What was read; ``when`` None: no schedule is named, ``zone`` None: no zone."""

    when: Recurrence | Stride | None = None
    zone: str | None = None
    notes: tuple[str, ...] = ()


def time_tokens(text: str, glossary: Glossary) -> list[Token]:
    """Words of time in a normalised statement, the domain's own among them."""
    english, chinese = bool(_LETTER.search(text)), not text.isascii()
    return find_tokens(text, _lexicon(tuple(sorted(glossary.time_words)), english, chinese))


@lru_cache(maxsize=32)
def _lexicon(own_words: tuple[str, ...], english: bool, chinese: bool) -> tuple[Entry, ...]:
    """Entries for texts with letters of either language: nothing else could match.

    Where a word of the domain covers the same text as a word of everybody's, the latter stands.
    """
    days = (*(ZH if chinese else ()), *FIGURES, *(EN if english else ()))
    questions = (*(ZH_QUESTIONS if chinese else ()), *(EN_QUESTIONS if english else ()))
    return (*CRON, *ZONE, *days, *questions, *(entry(_spaced(word), Named()) for word in own_words))


def _spaced(word: str) -> str:
    """Pattern of a comparable form: spaces and hyphens may stand anywhere in it."""
    letters = r"[\s-]*".join(re.escape(char) for char in word)
    return rf"(?<![A-Za-z]){letters}(?![A-Za-z])" if word.isascii() else letters


def read_time(text: str, tokens: Sequence[Token], glossary: Glossary, *, seconds_first: bool = False) -> TimeReading:
    """What the tokens of ``text`` mean together.

    Raises:
        TimeRefused: they name no schedule.
    """
    zones = sorted({meaning.name for meaning in _of(tokens, InZone)})
    if len(zones) > 1:
        raise TimeRefused(f"Two time zones are named, {' and '.join(zones)}: which of them counts?", "contradiction")
    loose = [token.text for token in tokens if isinstance(token.meaning, Loose)]
    tokens = [token for token in tokens if not isinstance(token.meaning, DataPeriod | InZone | Loose)]
    zone = zones[0] if zones else None
    if not tokens:
        if loose:
            raise TimeRefused(f"When exactly is {loose[0]!r}?")
        return TimeReading(zone=zone)
    if _of(tokens, OnRequest):
        if len(tokens) > 1:
            raise TimeRefused("On request, or at the times that are named too?", "contradiction")
        return TimeReading(zone=zone)
    crons = _of(tokens, CronWords)
    if crons:
        if len(tokens) > 1:
            raise TimeRefused("A cron expression and other words of time are named: which of them counts?", "contradiction")
        try:
            return TimeReading(read_cron(crons[0].text, seconds_first=seconds_first), zone)
        except CronRefused as error:
            raise TimeRefused(str(error), "invalid_schedule") from error
    tokens = _with_periods(tokens)
    for token in tokens:
        if isinstance(token.meaning, Unclear) and glossary.time_meaning(token.text) is None:
            question = f"{token.text.strip()!r}: {token.meaning.question}"
            raise TimeRefused(question, token.meaning.reason)
    tokens = _joined_dates(text, tokens)
    refuse_bounded(text, tokens)
    settled = settle_clocks(text, tokens)
    _refuse_interleaved(text, settled)
    when, notes = _recurrence(settled, glossary)
    return TimeReading(when, zone, notes)


def with_days_of(before: Sequence[Token], own: Sequence[Token]) -> list[Token]:
    """'Fetch at 6:00 daily, then check at 7:00': a task that names a clock time alone runs on the days of the one before it."""
    if not own or not all(isinstance(token.meaning, Clocks | Times | PartOfDay | InZone) for token in own):
        return list(own)
    return [*(token for token in before if isinstance(token.meaning, _DAYS)), *own]


def _with_periods(tokens: Sequence[Token]) -> Sequence[Token]:
    """'Weekly' beside 'on Monday' is clear, and says that every Monday is meant; beside days of another period it is not."""
    periods = {meaning.period for meaning in _of(tokens, Unclear)} - {""}
    days = [token.meaning for token in tokens if isinstance(token.meaning, _DAYS)]
    if len(periods) != 1 or not days or {_period(meaning) for meaning in days} != periods:
        return tokens
    kept = [token for token in tokens if not (isinstance(token.meaning, Unclear) and token.meaning.period)]
    return [
        replace(token, meaning=replace(token.meaning, recurring=True)) if isinstance(token.meaning, WeekDays) else token
        for token in kept
    ]


def _joined_dates(text: str, tokens: Sequence[Token]) -> list[Token]:
    """每月15日和月末: days of the same months with only 'and' between them are one set of days."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if (
            last
            and isinstance(last.meaning, MonthDays)
            and isinstance(token.meaning, MonthDays)
            and (last.meaning.months or ALL_MONTHS) == (token.meaning.months or ALL_MONTHS)
            and _ONLY_AND.fullmatch(text[last.end : token.start])
        ):
            days = MonthDays(last.meaning.days | token.meaning.days, last.meaning.months or ALL_MONTHS)
            joined[-1] = Token(days, last.start, token.end, text[last.start : token.end])
        else:
            joined.append(token)
    return joined


def _period(days: WeekDays | MonthDays | NthOfMonth) -> str:
    if isinstance(days, WeekDays):
        return "week" if days.days != EVERY_DAY else "day"
    months = days.months or ALL_MONTHS
    return {12: "month", 4: "quarter"}.get(len(months), "year")


def _recurrence(tokens: Sequence[Token], glossary: Glossary) -> tuple[Recurrence | Stride, tuple[str, ...]]:
    explained = [(token.text.strip(), glossary.time_meaning(token.text)) for token in tokens]
    windows = [(word, meaning) for word, meaning in explained if isinstance(meaning, Window)]
    spans = [Span(meaning.first, meaning.last) for _, meaning in windows] + _of(tokens, Span)
    days, notes = _days(tokens)
    if any(meaning.weekdays_only for _, meaning in windows):
        if days not in (None, Weekly(), Weekly(WORKWEEK)):
            raise TimeRefused("Two different sets of days are named: which of them counts?", "contradiction")
        days = Weekly(WORKWEEK)
    intervals = _of(tokens, Every)
    if intervals:
        notes += [f"{word!r} is read as {_clock_text(window.first)} to {_clock_text(window.last)}" for word, window in windows]
        return _interval(tokens, intervals, days, spans), tuple(notes)
    if spans:
        raise TimeRefused("How often within that part of the day?")
    minutes = tuple(sorted({minute for times in _of(tokens, Times) for minute in times.minutes}))
    parts = _of(tokens, PartOfDay)
    lonely = [token.text for token in tokens if isinstance(token.meaning, PartOfDay) and not token.meaning.whole]
    if minutes and lonely:
        raise TimeRefused(f"Which time does {lonely[0]!r} belong to?")
    if parts and all(part == PartOfDay("noon") for part in parts):
        minutes = (12 * 60,)
    counts = {per_day.count for per_day in _of(tokens, PerDay)}
    if not minutes:
        minutes = _minutes_by_words([(word, meaning) for word, meaning in explained if isinstance(meaning, int)], counts)
        notes += [f"{word!r} is read as {_clock_text(meaning)}" for word, meaning in explained if isinstance(meaning, int)]
    if counts and counts != {len(minutes)}:
        raise TimeRefused(f"{max(counts)} times a day are announced, {len(minutes)} named: which is right?", "contradiction")
    if days is None:
        if not counts and all(isinstance(token.meaning, Times | PartOfDay) for token in tokens):
            raise TimeRefused("On which days? Every day, or once only?")
        days = Weekly()
    if minutes and minutes[-1] >= DAY:
        if days != Weekly():
            raise TimeRefused("Midnight and the hours after it: those at the beginning of that day, or those that follow it?")
        minutes = tuple(sorted({minute % DAY for minute in minutes}))
    return Recurrence(days, minutes), tuple(dict.fromkeys(notes))


def _minutes_by_words(found: Sequence[tuple[str, int]], counts: set[int]) -> tuple[int, ...]:
    """A time that only the domain's words tell."""
    times = {minute for _, minute in found}
    if len(times) > 1:
        raise TimeRefused("The words name different times: which of them counts?", "contradiction")
    if not times:
        raise TimeRefused(f"At which {max(counts)} times of the day?" if counts - {1} else "At which time of the day?")
    return tuple(times)


def _days(tokens: Sequence[Token]) -> tuple[Days | None, list[str]]:
    """The days that the tokens name together (None: none), and notes."""
    found: list[Days] = []
    notes: list[str] = []
    for token in tokens:
        meaning = token.meaning
        if isinstance(meaning, WeekDays):
            if not meaning.recurring:
                raise TimeRefused(f"Every {token.text.strip()}, or only the next one?")
            found.append(Weekly(meaning.days))
            notes.append(meaning.note)
        elif isinstance(meaning, MonthDays):
            months = meaning.months or ALL_MONTHS
            found.append(Monthly(meaning.days, months))
            if max(meaning.days) > 28 and len(months) > 1:
                notes.append(f"months without a day {max(meaning.days)} are passed over")
        elif isinstance(meaning, NthOfMonth):
            found.append(NthDay(meaning.nth, meaning.among, meaning.months))
            notes.append(meaning.note)
    if not found and any(part.whole for part in _of(tokens, PartOfDay)):
        found.append(Weekly())
    return _joined(found), [note for note in notes if note]


def _joined(found: Sequence[Days]) -> Days | None:
    """Several days of the week are one set; 'every day' beside them adds nothing (工作日每天). Other days don't join."""
    narrow = list(dict.fromkeys(days for days in found if days != Weekly()))
    if len(narrow) > 1 and not all(isinstance(days, Weekly) for days in narrow):
        raise TimeRefused("Two different sets of days are named: which of them counts?", "contradiction")
    sets = [days.days for days in narrow if isinstance(days, Weekly)]
    if any(one < other for one in sets for other in sets):
        raise TimeRefused("Two different sets of days are named: which of them counts?", "contradiction")
    if len(narrow) < 2:
        wide = found[0] if found else None
        if narrow and wide and len(found) > 1 and not isinstance(narrow[0], Weekly) and not _is_stretch(narrow[0]):
            raise TimeRefused("Every day, or on those days only?", "contradiction")
        return narrow[0] if narrow else wide
    return Weekly(frozenset[int]().union(*sets))


def _is_stretch(days: Days) -> bool:
    """每月1号到5号每天: days of the month that 'every day' runs through."""
    return isinstance(days, Monthly) and len(days.days) == max(days.days) - min(days.days) + 1 > _FEW_DAYS


def _refuse_interleaved(text: str, tokens: Sequence[Token]) -> None:
    """'At 9 on Mondays and at 10 on Tuesdays' is two schedules, 'every day and every Monday' may be."""
    found = [token for token in tokens if isinstance(token.meaning, _DAYS | _TIMES)]
    turns = [isinstance(a.meaning, _TIMES) != isinstance(b.meaning, _TIMES) for a, b in pairwise(found)]
    if sum(turns) > 1:
        raise TimeRefused("Several days and several times are named: which time on which days?", "contradiction")
    for a, b in pairwise(found):
        _refuse_every_day_and_some(text, a, b)
        differ = a.meaning != b.meaning and WeekDays(EVERY_DAY) in (a.meaning, b.meaning)
        if (
            differ
            and not isinstance(a.meaning, _TIMES)
            and not isinstance(b.meaning, _TIMES)
            and _AND.search(text[a.end : b.start])
        ):
            raise TimeRefused("Every day, or on the other days that are named?", "contradiction")


def _refuse_every_day_and_some(text: str, first: Token, last: Token) -> None:
    """'Every day, Monday to Saturday' and 周末每天 are one set of days; 'daily, on Tuesdays' and 周末也每天 are two."""
    if not (isinstance(first.meaning, WeekDays) and isinstance(last.meaning, WeekDays)):
        return
    few, all_days = min(first.meaning.days, last.meaning.days, key=len), max(first.meaning.days, last.meaning.days, key=len)
    if all_days != EVERY_DAY or len(few) > _FEW_DAYS:
        return
    if first.meaning.days == EVERY_DAY or text[first.end : last.start].strip(" 的在内"):
        raise TimeRefused("Every day, or on those days only?", "contradiction")


def _interval(
    tokens: Sequence[Token], intervals: Sequence[Every], days: Days | None, spans: Sequence[Span]
) -> Recurrence | Stride:
    every = intervals[0]
    if len(set(intervals)) > 1 or len(spans) > 1:
        raise TimeRefused("Two different intervals are named: which of them counts?", "contradiction")
    if any(isinstance(token.meaning, Times | PerDay | PartOfDay) for token in tokens):
        raise TimeRefused("An interval and a time of day are named: which of them counts?", "contradiction")
    if every.minutes < 1 or any(minute > 59 for minute in every.at):
        raise TimeRefused("How many minutes apart, and how many past the hour?", "invalid_schedule")
    if days is not None and not isinstance(days, Weekly):
        raise TimeRefused("All day long on that day, or at one time of it?")
    if every.minutes >= DAY:
        raise TimeRefused("Counted from which day, and at which time?")
    weekdays = days or Weekly()
    first, last = (spans[0].first, min(spans[0].last, DAY - 1)) if spans else (0, DAY - 1)
    if first >= last or (spans and spans[0].last > DAY):
        raise TimeRefused("Does that part of the day go over midnight, or is it meant in 12 hours?")
    if every.at:
        minutes = (hour + past for hour in range(0, DAY, 60) for past in every.at)
        return Recurrence(weekdays, tuple(minute for minute in minutes if first <= minute <= last))
    if not spans and not _divides(every.minutes):
        return Stride(every.minutes, weekdays.days)
    return Recurrence(weekdays, tuple(range(first, last + 1, every.minutes)))


def _divides(minutes: int) -> bool:
    """Whether the interval repeats within each hour, or each day in whole hours: what cron can say."""
    return 60 % minutes == 0 if minutes < 60 else minutes % 60 == 0 and DAY % minutes == 0


def _of(tokens: Sequence[Token], kind: type[Kind]) -> list[Kind]:
    return [token.meaning for token in tokens if isinstance(token.meaning, kind)]


def _clock_text(minute: int) -> str:
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"
