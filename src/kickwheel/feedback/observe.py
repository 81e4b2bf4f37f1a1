"""What came back about one answer, joined into one observation that the rules of the signals read.

Pure, and blind to the order in which events came: maxima, sums and "the latest by its time" say the same in any order, and an
event counts once by its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from kickwheel.spellings import case_key, placed
from schemas.events import (
    AbandonEvent,
    BackAndReturnEvent,
    BounceEvent,
    DwellEvent,
    Event,
    FeedbackFact,
    InferenceRecord,
    OperatorLabelEvent,
    OutcomeEvent,
    RephraseEvent,
    ScrollEvent,
    SlotEditEvent,
    ThumbsEvent,
)
from schemas.feedback import Behaviour, FeedbackEvent, OperatorLabel
from schemas.frame import Frame

Kind = TypeVar("Kind", bound=FeedbackFact)


def observe(
    record: InferenceRecord,
    events: Iterable[Event],
    *,
    case: str | None = None,
    text: str | None = None,
    labels_until: datetime | None = None,
    sequence: int = 0,
) -> FeedbackEvent:
    """The answer with its events, in any order, repeated or not.

    Args:
        case: Name of the case; None: the key of the record's text.
        text: Spelling of the case in which frames are given; None: the record's own. Frames without a place in it are left out.
        labels_until: Operators' labels received from then on are not counted yet (T+1); None: all are.
        sequence: Number of the last change that is counted in.
    """
    unique = {event.event_id: event for event in events}.values()
    spelling = record.text if text is None else text

    def moved(frame: Frame | None) -> Frame | None:
        return None if frame is None else placed(frame, record.text, spelling)

    answer = moved(record.frame)
    edits = _of(unique, SlotEditEvent)
    correction = moved(edits[-1].frame) if edits else None
    behaviour = _behaviour(unique, corrected=bool(edits) and edits[-1].frame != record.frame)
    labels = _labels(unique, labels_until)
    in_place = [(name, moved(frame)) for name, frame in labels]
    operators = tuple(OperatorLabel(operator=name, frame=frame) for name, frame in in_place if frame is not None)
    return FeedbackEvent(
        case=case_key(record.text) if case is None else case,
        user=record.user or next((event.user for event in unique if event.user), None) or record.session or "",
        text=spelling,
        inference_id=record.inference_id,
        position=record.position,
        arm=record.arm,
        propensity=record.propensity,
        model=record.model_version,
        answer=answer,
        behaviour=behaviour,
        correction=correction,
        operator_label=operators[-1].frame if operators else None,
        operator_labels=operators,
        completed=bool(behaviour.completed) and not behaviour.corrected,
        sequence=sequence,
        replayed=False,
    )


def labels_waiting(events: Iterable[Event], labels_until: datetime | None) -> int:
    """Operators' labels that are not counted yet."""
    return sum(not _due(event, labels_until) for event in events if isinstance(event, OperatorLabelEvent))


def _behaviour(events: Iterable[Event], *, corrected: bool) -> Behaviour:
    dwells, scrolls, outcomes = _of(events, DwellEvent), _of(events, ScrollEvent), _of(events, OutcomeEvent)
    thumbs = _of(events, ThumbsEvent)
    return Behaviour(
        dwell_s=max((event.seconds for event in dwells), default=0.0),
        scroll=max((event.share for event in scrolls), default=0.0),
        bounced=bool(_of(events, BounceEvent)),
        back_and_return=sum(event.times for event in _of(events, BackAndReturnEvent)),
        corrected=corrected,
        abandoned=bool(_of(events, AbandonEvent)),
        turns=_latest([event.turns for event in outcomes]) or 1,
        rephrased=bool(_of(events, RephraseEvent)),
        thumbs_up=thumbs[-1].up if thumbs else None,
        completed=_latest([event.completed for event in outcomes]),
        converted=_latest([event.conversion for event in outcomes]),
    )


def _of(events: Iterable[Event], kind: type[Kind]) -> list[Kind]:
    """Events of a kind, oldest first by the client's time, then the server's, then the id: the same in any order of arrival."""
    found = [event for event in events if isinstance(event, kind)]
    return sorted(found, key=lambda event: (event.at, event.received_at or event.at, event.event_id))


def _labels(events: Iterable[Event], until: datetime | None) -> list[tuple[str, Frame]]:
    """Each operator's latest label that counts, oldest first."""
    latest: dict[str, Frame] = {}
    for event in _of(events, OperatorLabelEvent):
        if _due(event, until):
            latest.pop(event.operator, None)
            latest[event.operator] = event.frame
    return list(latest.items())


def _due(event: OperatorLabelEvent, until: datetime | None) -> bool:
    return until is None or (event.received_at or event.at) < until


Value = TypeVar("Value")


def _latest(values: Sequence[Value | None]) -> Value | None:
    return next((value for value in reversed(values) if value is not None), None)
