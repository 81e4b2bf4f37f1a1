"""The distillation loss against figures worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from kickwheel.distillation.distil_adapter import distillation_loss, softened_kl
from kickwheel.distillation.mixing import distillation_plan, replayed_rows
from kickwheel.settings import DistillationSettings
from schemas.frame import Frame
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance


def kl_by_hand(scores: list[float], target: list[float], temperature: float) -> float:
    soft = [share ** (1 / temperature) for share in target]
    soft = [share / sum(soft) for share in soft]
    powers = [math.exp(score / temperature) for score in scores]
    student = [power / sum(powers) for power in powers]
    return sum(q * math.log(q / p) for q, p in zip(soft, student, strict=True))


def test_kl_of_two_candidates_by_hand() -> None:
    # T = 2: q = (0.8, 0.2) softens to (2/3, 1/3), scores 0 and -2 ln 3 to p = (3/4, 1/4)
    expected = 2 / 3 * math.log((2 / 3) / (3 / 4)) + 1 / 3 * math.log((1 / 3) / (1 / 4))
    found = softened_kl(torch.tensor([0.0, -2 * math.log(3)]), torch.tensor([0.8, 0.2]), 2.0)
    assert found.item() == pytest.approx(4 * expected, rel=1e-5)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 4.0])
def test_kl_is_scaled_by_the_square_of_the_temperature(temperature: float) -> None:
    scores, target = [-4.0, -6.5, -9.0], [0.7, 0.2, 0.1]
    found = softened_kl(torch.tensor(scores), torch.tensor(target), temperature)
    assert found.item() == pytest.approx(temperature**2 * kl_by_hand(scores, target, temperature), rel=1e-4)


def test_student_that_meets_the_target_has_nothing_to_learn() -> None:
    scores = torch.tensor([0.7, 0.3]).log().requires_grad_()
    loss = softened_kl(scores, torch.tensor([0.7, 0.3]), 2.0)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert scores.grad is not None
    assert scores.grad.abs().max().item() < 1e-6


def test_candidate_whose_target_is_zero_is_finite() -> None:
    assert math.isfinite(softened_kl(torch.tensor([-3.0, -5.0]), torch.tensor([1.0, 0.0]), 2.0).item())


def batch(example: list[int], target: list[float], weight: list[float]) -> dict[str, torch.Tensor]:
    return {"example": torch.tensor(example), "target": torch.tensor(target), "weight": torch.tensor(weight)}


LOGPROBS = torch.tensor([[-1.0, -2.0, 0.0], [-1.0, -1.0, -3.0], [-0.5, -0.5, -0.5]])
MASK = torch.tensor([[True, True, False], [True, True, True], [True, True, True]])


@pytest.mark.parametrize(("hard", "weight"), [(0.0, 0.5), (0.5, 0.5), (1.0, 0.75)])
def test_case_and_replayed_row_add_up_to_the_loss(hard: float, weight: float) -> None:
    # a case of two candidates with scores -3 (2 tokens, the best) and -5; a replayed row with score -1.5 (3 tokens)
    found = distillation_loss(LOGPROBS, MASK, batch([0, 0, 1], [0.9, 0.1, 1.0], [weight, 1.0]), temperature=2.0, hard=hard)
    case = (1 - hard) * 4 * kl_by_hand([-3.0, -5.0], [0.9, 0.1], 2.0) + hard * weight * 3.0
    assert found.item() == pytest.approx((case + 1.5) / (2 + 3), rel=1e-5)


def test_hard_label_is_the_candidate_with_the_highest_target() -> None:
    found = distillation_loss(LOGPROBS[:2], MASK[:2], batch([0, 0], [0.2, 0.8], [1.0]), temperature=2.0, hard=1.0)
    assert found.item() == pytest.approx(5 / 3, rel=1e-5)


def test_plan_has_the_champion_s_shape_and_distillation_s_rate_and_budget() -> None:
    settings = DistillationSettings(learning_rate=1e-4, max_tokens=123)
    plan = distillation_plan(LoraPlan(r=4, alpha=32, seed=9), settings)
    assert plan == LoraPlan(r=4, alpha=32, seed=9, learning_rate=1e-4, max_tokens=123)


def old(index: int, *, labelled: bool = True) -> Utterance:
    frame = Frame(intent="sync_orders") if labelled else None
    return Utterance(id=f"o{index}", text="sync", language="en", frame=frame)


def test_replayed_rows_are_the_share_of_all_items() -> None:
    rows = [old(index) for index in range(50)]
    chosen = replayed_rows(rows, cases=14, share=0.3, seed=1)
    assert len(chosen) == len({row.id for row in chosen}) == 6
    assert chosen == replayed_rows(rows, cases=14, share=0.3, seed=1)
    assert chosen != replayed_rows(rows, cases=14, share=0.3, seed=2)


def test_replay_takes_labelled_rows_only_and_no_more_than_there_are() -> None:
    chosen = replayed_rows([old(1), old(2, labelled=False), old(3)], cases=100, share=0.5, seed=0)
    assert sorted(row.id for row in chosen) == ["o1", "o3"]
    assert replayed_rows([old(1)], cases=100, share=0.0, seed=0) == []
