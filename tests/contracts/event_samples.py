"""Instances of the contracts of feedback."""

from __future__ import annotations

import datetime

from schemas.base import Contract, DataRef
from schemas.events import (
    AbandonEvent,
    BackAndReturnEvent,
    BounceEvent,
    DwellEvent,
    Erased,
    FeedbackBatch,
    FeedbackFact,
    InferenceRecord,
    OperatorLabelEvent,
    OutcomeEvent,
    Received,
    RephraseEvent,
    ScrollEvent,
    SlotEditEvent,
    StoreStatus,
    ThumbsEvent,
)
from schemas.evidence import (
    BadCaseReport,
    BadCluster,
    CandidateEvidence,
    CaseEvidence,
    FeedbackSignals,
    FeedbackWindow,
    ImportReport,
)
from schemas.feedback import Exposure, OperatorLabel, Signal
from schemas.frame import Frame

_TEXT = "把🚚 昨天的订单同步到 ２号仓 👩‍👩‍👧"
_WANTED = Frame.from_values(_TEXT, "sync_orders", {"date": "昨天", "region": "２号仓"})
_OTHER = Frame(intent="out_of_scope")
_MOMENT = datetime.datetime(2026, 11, 30, 8, 15, tzinfo=datetime.UTC)
_FACT = {"inference_id": "i-1", "session": "s-1", "user": "用户-1", "at": _MOMENT, "received_at": _MOMENT}
EVENTS: tuple[Contract, ...] = (
    InferenceRecord(
        inference_id="i-1",
        session="s-1",
        user="用户-1",
        text=_TEXT,
        frame=_WANTED,
        model_version="shop-lap-0002-distilled",
        arm="challenger",
        propensity=0.1,
        confidence=0.7,
        at=_MOMENT,
    ),
    InferenceRecord(
        inference_id="i-2", text=_TEXT, frame=None, model_version="m", error="malformed", status=502, position=2, at=_MOMENT
    ),
    FeedbackFact(event_id="e-0", session="s-1", at=_MOMENT),
    FeedbackBatch(
        events=(
            DwellEvent(event_id="e-1", seconds=9.5, **_FACT),
            ScrollEvent(event_id="e-2", share=0.95, **_FACT),
            BounceEvent(event_id="e-3", **_FACT),
            BackAndReturnEvent(event_id="e-4", times=3, **_FACT),
            RephraseEvent(event_id="e-5", text=_TEXT, to_inference_id="i-2", **_FACT),
            SlotEditEvent(event_id="e-6", frame=_WANTED, **_FACT),
            AbandonEvent(event_id="e-7", **_FACT),
            ThumbsEvent(event_id="e-8", up=False, **_FACT),
            OperatorLabelEvent(event_id="e-9", frame=_OTHER, operator="ops-1", **_FACT),
            OutcomeEvent(event_id="e-10", completed=True, turns=2, conversion=False, **_FACT),
        )
    ),
    Received(added=1, duplicates=2, differing=("e-1",)),
    StoreStatus(
        store="sqlite:///feedback.sqlite3",
        inferences=2,
        events=10,
        by_kind={"dwell": 10},
        waiting=1,
        session_level=1,
        users=3,
        sequence=12,
        oldest=_MOMENT,
        newest=None,
    ),
    Erased(dry_run=True, inferences=1, events=2, laps=(1, 2)),
    OperatorLabel(operator="ops-1", frame=_WANTED),
    FeedbackSignals(
        cases=(
            CaseEvidence(
                case="ab" * 16,
                text=_TEXT,
                answers=2,
                candidates=(
                    CandidateEvidence(
                        frame=_WANTED, fused=0.5, by_source={"implicit": 0.5}, supporters=1, opponents=1, conflict=True
                    ),
                ),
                signals=(
                    Signal(
                        case="ab" * 16,
                        candidate=_WANTED,
                        source="implicit",
                        rule="dwell",
                        strength=0.5,
                        user="用户-1",
                        inference_id="i-1",
                        exposure=Exposure(arm="challenger", propensity=0.1, position=2),
                        evidence="9.5 s on the answer",
                    ),
                ),
                conflict=True,
                moves=None,
                held_back="1 of 2 users speak for it",
                labels_waiting=1,
            ),
        ),
        moving=0,
        conflicts=1,
        signals_by_rule={"dwell": 1},
    ),
    BadCaseReport(
        answers=9,
        bad=1,
        all_clusters=1,
        clusters=(
            BadCluster(
                fingerprint="POST /v1/understand 200 sync_orders",
                answers=1,
                severity=1.0,
                cases=("ab" * 16,),
                texts=(_TEXT,),
                languages=("zh",),
                suggestions=(None,),
            ),
        ),
    ),
    ImportReport(records=1, events=2, added=1, duplicates=1, differing=("e-1",)),
    FeedbackWindow(
        store=7,
        until=12,
        labels_until=_MOMENT,
        cases=1,
        observations=DataRef(path="laps/0001/distillation/feedback.jsonl", sha256="0" * 64, rows=1),
    ),
)
