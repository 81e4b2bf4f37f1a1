"""Whether a distillation is worth running now: by hand, by the clock, by evidence, by drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kickwheel.distillation.drift import Drift, low_share, stability_index
from kickwheel.feedback.ports import Exchange
from kickwheel.promotion_settings import TriggerSettings
from schemas.events import AbandonEvent, OperatorLabelEvent, RephraseEvent, SlotEditEvent, ThumbsEvent
from schemas.triggers import Trigger, TriggerVerdict

TELLING = (SlotEditEvent, OperatorLabelEvent, ThumbsEvent, AbandonEvent, RephraseEvent)
"""Events that say something about the answer beyond that it was looked at."""


@dataclass(frozen=True)
class Evidence:
    """What came since the last distillation, and what the drift of it is measured against."""

    new: Sequence[Exchange]
    before: Sequence[Exchange]
    after: int
    """Number of the store's last change that an earlier distillation has used."""


def split_evidence(exchanges: Sequence[Exchange], after: int) -> Evidence:
    """Answers with a telling event that came after ``after`` are new, as are answers given since; the rest came before."""
    new = [item for item in exchanges if item.sequence > after or any(kept.sequence > after for kept in item.events)]
    ids = {item.record.inference_id for item in new}
    return Evidence(new, [item for item in exchanges if item.record.inference_id not in ids], after)


def judge_triggers(evidence: Evidence, settings: TriggerSettings, *, by_hand: bool = False) -> TriggerVerdict:
    """Which triggers fire. Without any evidence nothing does, whoever asks: there is nothing to learn from."""
    telling = sum(
        any(isinstance(kept.event, TELLING) and kept.sequence > evidence.after for kept in item.events) for item in evidence.new
    )
    drift = drift_of(evidence, settings)
    enough = drift.answers >= settings.drift_answers and len(evidence.before) >= settings.drift_answers
    rise = drift.low_confidence - drift.low_confidence_before
    fired: dict[Trigger, str] = {}
    if by_hand and telling:
        fired["by_hand"] = "asked for by hand"
    if telling >= settings.min_answers:
        fired["enough"] = f"{telling} answers with new evidence, at least {settings.min_answers}"
    if enough and telling and drift.stability_index > settings.max_stability_index:
        fired["drift"] = f"drift: stability index {drift.stability_index:.2f}, more than {settings.max_stability_index:g}"
    if enough and telling and rise > settings.max_low_confidence_rise:
        fired["novelty"] = (
            f"novelty: {100 * drift.low_confidence:.0f} % of answers of low confidence, "
            f"before {100 * drift.low_confidence_before:.0f} %"
        )
    return TriggerVerdict(
        due=bool(fired),
        kinds=tuple(fired),
        fired=tuple(fired.values()),
        new_answers=len(evidence.new),
        telling_answers=telling,
        stability_index=drift.stability_index,
        low_confidence=drift.low_confidence,
        low_confidence_before=drift.low_confidence_before,
    )


def drift_of(evidence: Evidence, settings: TriggerSettings) -> Drift:
    """The figures of new answers against earlier ones. Shadow answers count as nobody's."""
    before, now = ([item.record for item in side if item.record.arm != "shadow"] for side in (evidence.before, evidence.new))
    threshold = settings.low_confidence
    return Drift(
        answers=len(now),
        stability_index=stability_index(
            [record.frame.intent if record.frame else "none" for record in before],
            [record.frame.intent if record.frame else "none" for record in now],
        ),
        low_confidence=low_share([record.confidence for record in now], threshold),
        low_confidence_before=low_share([record.confidence for record in before], threshold),
    )
