"""Simulated users act by chance, as often as they are told, and never tell what nobody could see."""

from __future__ import annotations

import random

from kickwheel.distillation.mixing import weighted_rows
from kickwheel.probe import Probe
from kickwheel.testing.simulated_users import Habits, SimulatedUsers
from schemas.feedback import CandidateTarget, DistillationRow
from schemas.frame import Frame, Prediction
from schemas.utterance import Utterance

A, B = Frame(intent="sync_orders"), Frame(intent="fetch_api_logs")


def met(noise: float, answer: Frame | None, count: int = 2000, seed: int = 3) -> list:
    users = SimulatedUsers([A, B], random.Random(seed), Habits(noise=noise))
    return [users.meet(f"c{n}", "sync it", A, Prediction(frame=answer), model="m") for n in range(count)]


def test_users_without_noise_correct_wrong_answers_only_and_into_what_they_wanted() -> None:
    assert not [event for event in met(0.0, A) if event.correction or event.behaviour.abandoned]
    wrong = met(0.0, B)
    corrected = [event for event in wrong if event.correction]
    assert {event.correction for event in corrected} == {A}
    assert 0.40 < len(corrected) / len(wrong) < 0.50
    assert not any(event.completed for event in corrected)


def test_fifteen_of_a_hundred_reactions_are_of_the_other_kind() -> None:
    wrong = met(0.15, B)
    accepted = [event for event in wrong if not event.correction and event.behaviour.turns == 1]
    assert 0.12 < len(accepted) / len(wrong) < 0.18
    right = met(0.15, A)
    damaged = [event for event in right if event.correction]
    assert 0.05 < len(damaged) / len(right) < 0.09  # 15 % times the 45 % who edit
    assert A not in {event.correction for event in damaged}


def test_operators_err_too_and_the_same_seed_gives_the_same_users() -> None:
    labels = [event.operator_label for event in met(0.15, B) if event.operator_label]
    assert 0.1 < sum(label != A for label in labels) / len(labels) < 0.2
    assert met(0.15, B) == met(0.15, B)


def test_a_reply_that_is_no_frame_pleases_nobody() -> None:
    assert not any(event.completed for event in met(0.15, None))


def test_soft_targets_become_weighted_rows_that_a_fitted_student_learns_from() -> None:
    row = DistillationRow(
        case="c",
        text="bring me the logs",
        candidates=(
            CandidateTarget(frame=B, fused=1.0, teacher=None, target=0.97),
            CandidateTarget(frame=A, fused=0.0, teacher=None, target=0.02),
            CandidateTarget(frame=Frame(intent="out_of_scope"), fused=0.0, teacher=None, target=0.01),
        ),
        weight=0.5,
    )
    weighted = weighted_rows(row)
    assert [(item.frame, weight) for item, weight in weighted] == [(B, 0.485), (A, 0.01)]
    seeds = [Utterance(id=f"s{n}", text="sync orders now", language="en", frame=A) for n in range(3)]
    rows, weights = zip(*[(seed, 1.0) for seed in seeds], *weighted, strict=True)
    assert Probe.fit(rows, seed=0, weights=weights).predict(["bring the logs"])[0].frame == B
