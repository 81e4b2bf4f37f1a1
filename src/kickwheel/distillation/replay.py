"""Replay bundled feedback against answers that models really gave.

The behaviour is simulated (a case says how such a user acts on a right and on a wrong answer), the answers are not:
every event is marked ``replayed``. What the user wanted enters an event only by way of a correction or an operator's label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from schemas.feedback import FeedbackCase, FeedbackEvent
from schemas.frame import Prediction

Arm = Literal["champion", "probe"]
ARMS: tuple[Arm, ...] = ("champion", "probe")


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
    right = prediction.frame == case.wanted
    behaviour = case.when_right if right else case.when_wrong
    return FeedbackEvent(
        case=case.id,
        user=case.user,
        text=case.text,
        arm=arm,
        propensity=propensity,
        model=model,
        answer=prediction.frame,
        behaviour=behaviour,
        correction=case.wanted if behaviour.corrected else None,
        operator_label=case.wanted if case.operator_labels else None,
        completed=right and not behaviour.corrected and not behaviour.abandoned,
        replayed=True,
    )
