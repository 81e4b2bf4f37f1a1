"""Replay bundled feedback against answers that models really gave.

The behaviour is simulated (a case says how such a user acts on a right and on a wrong answer), the answers are not: every
answer is marked ``replayed``. A case becomes the events that such a user would have sent, and these go the way of live ones:
the same joining, the same rules. What the user wanted enters an event only by way of a correction or an operator's label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from kickwheel.feedback.observe import observe
from schemas.events import (
    AbandonEvent,
    BackAndReturnEvent,
    BounceEvent,
    DwellEvent,
    Event,
    InferenceRecord,
    OperatorLabelEvent,
    OutcomeEvent,
    RephraseEvent,
    ScrollEvent,
    SlotEditEvent,
    ThumbsEvent,
)
from schemas.feedback import Behaviour, FeedbackCase, FeedbackEvent
from schemas.frame import Prediction

Arm = Literal["champion", "probe"]
ARMS: tuple[Arm, ...] = ("champion", "probe")

REPLAYED_AT = datetime(2000, 1, 1, tzinfo=UTC)
"""Time of replayed events: long enough ago for every rhythm to count them."""
_NEVER = 1e-9
"""Propensity of an arm with a share of 0, which nobody is assigned to."""


@dataclass(frozen=True)
class ArmAnswers:
    """What one arm answered: served model name and one prediction a case, in the order of the cases."""

    model: str
    predictions: Sequence[Prediction]


def assign_arm(experiment: str, user: str, champion_share: float) -> Arm:
    """Consistent hash: a user always sees the same arm of one experiment, and another draw in the next."""
    digest = hashlib.sha256(f"{experiment}\0{user}".encode()).digest()
    return "champion" if int.from_bytes(digest[:8]) / 2**64 < champion_share else "probe"


def replay(
    cases: Sequence[FeedbackCase], answers: Mapping[Arm, ArmAnswers], *, experiment: str, champion_share: float
) -> list[FeedbackEvent]:
    """One event a case, in order: the answer of the user's arm and what the user did with it.

    Raises:
        ValueError: an arm has not one prediction a case.
    """
    for arm, given in answers.items():
        if len(given.predictions) != len(cases):
            raise ValueError(f"arm {arm!r}: expected {len(cases)} predictions, one a case, got {len(given.predictions)}")
    events = []
    for index, case in enumerate(cases):
        arm = assign_arm(experiment, case.user, champion_share)
        propensity = champion_share if arm == "champion" else 1 - champion_share
        answer = answers[arm].predictions[index]
        events.append(_event(case, arm, propensity, answers[arm].model, answer))
    return events


def _event(case: FeedbackCase, arm: Arm, propensity: float, model: str, prediction: Prediction) -> FeedbackEvent:
    """The events that such a user would have sent, joined as live ones are."""
    right = prediction.frame == case.wanted
    behaviour = case.when_right if right else case.when_wrong
    record = InferenceRecord(
        inference_id=case.id,
        user=case.user,
        text=case.text,
        frame=prediction.frame,
        model_version=model,
        arm=arm,
        propensity=propensity or _NEVER,
        at=REPLAYED_AT,
    )
    observed = observe(record, events_of(case, behaviour), case=case.id)
    # Whether the task was done is what the comparison of arms needs to know; as an event it would tell the rules what is right.
    completed = right and not behaviour.corrected and not behaviour.abandoned
    known = {"inference_id": "", "propensity": propensity, "completed": completed, "replayed": True, "behaviour": behaviour}
    return observed.model_copy(update=known)


def events_of(case: FeedbackCase, behaviour: Behaviour) -> list[Event]:
    """A case's behaviour as events. What the user wanted is in an edit and in an operator's label, nowhere else."""
    facts: dict[str, Any] = {"inference_id": case.id, "at": REPLAYED_AT, "received_at": REPLAYED_AT}

    def named(kind: str) -> dict[str, Any]:
        return {"event_id": f"{case.id}/{kind}", **facts}

    events: list[Event] = [
        DwellEvent(**named("dwell"), seconds=behaviour.dwell_s),
        ScrollEvent(**named("scroll"), share=behaviour.scroll),
        OutcomeEvent(**named("outcome"), turns=behaviour.turns),
    ]
    if behaviour.bounced:
        events.append(BounceEvent(**named("bounce")))
    if behaviour.back_and_return:
        events.append(BackAndReturnEvent(**named("back_and_return"), times=behaviour.back_and_return))
    if behaviour.rephrased:
        events.append(RephraseEvent(**named("rephrase")))
    if behaviour.thumbs_up is not None:
        events.append(ThumbsEvent(**named("thumbs"), up=behaviour.thumbs_up))
    if behaviour.corrected:
        events.append(SlotEditEvent(**named("slot_edit"), frame=case.wanted))
    if behaviour.abandoned:
        events.append(AbandonEvent(**named("abandon")))
    if case.operator_labels:
        events.append(OperatorLabelEvent(**named("operator_label"), frame=case.wanted))
    return events
