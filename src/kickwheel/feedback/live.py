"""What a store says about cases: observations of live traffic, sessions' events with the answer that they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kickwheel.feedback.observe import labels_waiting, observe
from kickwheel.feedback.ports import EventStore, Exchange, Kept
from kickwheel.settings import DistillationSettings
from schemas.feedback import FeedbackEvent


@dataclass(frozen=True)
class Used:
    """Up to which change, and which operators' labels, a case's events were used before."""

    until: int
    labels_until: datetime | None


@dataclass(frozen=True)
class LiveCase:
    """A case of live traffic. ``text`` is the spelling that was seen first; frames of all observations are given in it."""

    case: str
    text: str
    observations: tuple[FeedbackEvent, ...]
    """Answers about which something came back, oldest first."""
    answers: int
    """Answers to it, with feedback or without."""
    labels_waiting: int = 0
    """Operators' labels that count from tomorrow (T+1)."""


def labels_until(settings: DistillationSettings, now: datetime) -> datetime | None:
    """Up to when operators' labels count: the last midnight (UTC); None: all of them."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day if settings.operator_rhythm == "daily" else None


def live_cases(
    store: EventStore,
    settings: DistillationSettings,
    *,
    now: datetime,
    cases: Sequence[str] | None = None,
    inference_ids: Sequence[str] | None = None,
    until: int | None = None,
    used: Mapping[str, Used] | None = None,
) -> list[LiveCase]:
    """Cases with what came back about them, in the order of their first answers; without anything, a case is left out.

    Args:
        cases: Only these.
        inference_ids: Of all answers only these.
        until: As the store was at that change.
        used: Case -> which of its events were used before: they do not count again.
    """
    exchanges = _with_session_events(store, store.exchanges(cases=cases, inference_ids=inference_ids, until=until), until)
    by_case: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        by_case[exchange.case].append(exchange)
    due = labels_until(settings, now)
    found = [_live_case(case, seen, due, (used or {}).get(case)) for case, seen in by_case.items()]
    return [case for case in found if case.observations or case.labels_waiting]


def _live_case(case: str, exchanges: Sequence[Exchange], due: datetime | None, used: Used | None) -> LiveCase:
    text = exchanges[0].record.text
    observations, waiting = [], 0
    for exchange in exchanges:
        fresh = [kept for kept in exchange.events if not _used(kept, exchange, used)]
        if not fresh:
            continue
        events = [kept.event for kept in fresh]
        held = labels_waiting(events, due)
        waiting += held
        if held < len(events):
            last = max(kept.sequence for kept in fresh)
            observations.append(observe(exchange.record, events, case=case, text=text, labels_until=due, sequence=last))
    return LiveCase(case, text, tuple(observations), len(exchanges), waiting)


def _used(kept: Kept, exchange: Exchange, used: Used | None) -> bool:
    """Whether it counted before: it and its answer were there, and a label was not waiting for its day."""
    if used is None or max(kept.sequence, exchange.sequence) > used.until:
        return False
    return not labels_waiting([kept.event], used.labels_until)


def _with_session_events(store: EventStore, exchanges: Sequence[Exchange], until: int | None) -> list[Exchange]:
    """Events about a session as a whole, joined to the answer that was the session's last when they happened."""
    sessions = sorted({item.record.session for item in exchanges if item.record.session})
    about: dict[str, list[Kept]] = defaultdict(list)
    for kept in store.session_events(sessions):
        if kept.event.session and (until is None or kept.sequence <= until):
            about[kept.event.session].append(kept)
    if not about:
        return list(exchanges)
    last: dict[str, list[Kept]] = defaultdict(list)
    whole: dict[str, list[Exchange]] = defaultdict(list)
    for item in store.exchanges(sessions=sorted(about), until=until):
        whole[item.record.session or ""].append(item)
    for session, events in about.items():
        answers = sorted(whole[session], key=lambda item: (item.record.at, item.record.inference_id))
        for kept in events:
            before = [item for item in answers if item.record.at <= kept.event.at] or answers[:1]
            if before:
                last[before[-1].record.inference_id].append(kept)
    return [
        Exchange(item.record, item.case, item.sequence, (*item.events, *last.get(item.record.inference_id, ())))
        for item in exchanges
    ]
