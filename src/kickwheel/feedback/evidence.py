"""Live cases as evidence: the rules of the signals and the fusion, asked of a store at any moment.

Nothing is computed ahead: signals are functions of the events, so they are there as soon as the events are (white paper F12:
implicit feedback within 500 ms).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from kickwheel.distillation.fusion import fuse, live_limits
from kickwheel.distillation.signals import signals_of
from kickwheel.feedback.live import LiveCase, live_cases
from kickwheel.feedback.ports import EventStore
from kickwheel.settings import DistillationSettings
from schemas.evidence import CandidateEvidence, CaseEvidence, FeedbackSignals


def evidence_of(case: LiveCase, settings: DistillationSettings) -> CaseEvidence:
    """Signals and fused figures of one case, with the limits of live traffic."""
    signals = tuple(signal for event in case.observations for signal in signals_of(event, settings))
    fused = fuse(signals, settings, live_limits(settings)).get(case.case)
    candidates = sorted(fused.candidates, key=lambda item: -item.fused) if fused else []
    told = tuple(
        CandidateEvidence(
            frame=item.frame,
            fused=item.fused,
            by_source={str(source): figure for source, figure in item.by_source.items()},
            supporters=len(item.supporters),
            opponents=len(item.opponents),
            conflict=item.conflict or item.disputed,
        )
        for item in candidates
    )
    held_back = fused.held_back if fused else "no signal yet"
    return CaseEvidence(
        case=case.case,
        text=case.text,
        answers=case.answers,
        candidates=told,
        signals=signals,
        conflict=any(item.conflict for item in told),
        moves=None if held_back else told[0].frame,
        held_back=held_back,
        labels_waiting=case.labels_waiting,
    )


def feedback_signals(
    store: EventStore,
    settings: DistillationSettings,
    *,
    now: datetime,
    cases: Sequence[str] | None = None,
    inference_ids: Sequence[str] | None = None,
) -> FeedbackSignals:
    """Evidence about these cases, or from these answers alone, or all there is."""
    live = live_cases(store, settings, now=now, cases=cases, inference_ids=inference_ids)
    found = [evidence_of(case, settings) for case in live]
    return FeedbackSignals(
        cases=tuple(sorted(found, key=lambda item: -len(item.signals))),
        moving=sum(item.moves is not None for item in found),
        conflicts=sum(item.conflict for item in found),
        signals_by_rule=dict(sorted(Counter(signal.rule for item in found for signal in item.signals).items())),
    )
