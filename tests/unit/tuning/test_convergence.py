"""The convergence guard: what it says before a run, and what it does to one that collapses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kickwheel.tuning.convergence import ConvergenceGuard, check_schedule, check_steps, rate_share, sentences
from kickwheel.tuning.guard_adapter import GuardHook
from schemas.training import GuardPlan


def told(**changes: object) -> str:
    settings = {"steps": 300, "decay": "linear", "decay_steps": 0, "warmup_steps": 18, "passes": 3.0, "plan": GuardPlan()}
    return " ".join(sentences(check_schedule(**{**settings, **changes})))  # type: ignore[arg-type]


def test_a_schedule_that_fits_is_passed() -> None:
    assert told() == ""
    assert told(decay_steps=400) == ""
    assert told(plan=GuardPlan(action="off"), steps=3) == ""


def test_the_white_papers_mismatch_is_told_before_the_run() -> None:
    """Cosine with T_max 200 where 30 steps are run: the rate stays at 95 % of its peak."""
    message = told(steps=30, decay="cosine", decay_steps=200, warmup_steps=0)
    assert "before the run: the cosine decay is made for 200 steps and 30 are run" in message
    assert "95% of its peak" in message
    assert "at a rate of 0" in told(decay_steps=100)
    assert "little is learned" in told(steps=29, warmup_steps=2)
    assert "200 of 300 steps are warm-up" in told(warmup_steps=200)
    assert "by heart" in told(passes=60)


def test_rate_rises_to_its_peak_and_falls_to_nothing() -> None:
    assert rate_share(5, 100, "linear", 0, 10) == 0.5
    assert rate_share(10, 100, "cosine", 0, 10) == 1.0
    assert rate_share(55, 100, "linear", 0, 10) == pytest.approx(0.5)
    assert rate_share(100, 100, "cosine", 0, 10) == pytest.approx(0)


def test_a_loss_jump_of_217_percent_lowers_the_rate_and_later_stops() -> None:
    guard = ConvergenceGuard(GuardPlan(cuts=1))
    assert [guard.validation(step, loss) for step, loss in enumerate([1.0, 0.5, 1.5], start=1)] == ["go"] * 3
    assert guard.validation(4, 1.6) == "lower"  # more than 0.5 * 3.17
    assert guard.factor == pytest.approx(0.3)
    assert ConvergenceGuard(GuardPlan(cuts=1), guard.state).validation(5, 1.6) == "stop"  # taken up from a checkpoint
    assert guard.validation(5, 0.4) == "go"
    assert guard.lowest == 0.4
    assert ConvergenceGuard(GuardPlan(action="warn"), guard.state).validation(6, 9.0) == "go"


def test_exploding_gradients_are_seen_by_their_variance() -> None:
    guard = ConvergenceGuard(GuardPlan(action="stop", window=4))
    assert [guard.gradient(step, 100.0) for step in range(1, 9)] == ["go"] * 8  # large, but steady
    assert guard.gradient(9, float("nan")) == "go"  # the loop itself refuses what is no number
    assert guard.gradient(10, 400.0) == "stop"  # variance 22,500
    assert guard.events[0].what == "gradient_variance"
    off = ConvergenceGuard(GuardPlan(action="off", window=2))
    assert [off.gradient(1, 1.0), off.gradient(2, 1e9), off.validation(3, 1e9)] == ["go"] * 3


def test_looks_are_spread_over_the_steps() -> None:
    assert sorted(check_steps(60, 5)) == [10, 20, 30, 40, 50]
    assert check_steps(3, 5) <= {1, 2}
    assert check_steps(100, 0) == frozenset()


def test_a_stop_goes_back_to_the_weights_of_the_lowest_loss(tmp_path: Path) -> None:
    import torch

    weight = torch.zeros(2)
    losses: Iterator[float] = iter([1.0, 0.2, 0.9])
    hook = GuardHook(GuardPlan(action="stop", checks=3), 40, lambda: next(losses), tmp_path)
    seen: list[str] = []

    def named() -> list[tuple[str, torch.Tensor]]:
        return [("w", weight)]

    for step in range(1, 40):
        weight += 1
        seen.append(hook.after_step(step, 1.0, named))
        if step == 20:
            hook.save(tmp_path)
        if seen[-1] == "stop":
            break
    assert len(seen) == 30
    assert weight.tolist() == [20.0, 20.0]
    again = GuardHook(GuardPlan(action="stop", checks=3), 40, lambda: 0.9, tmp_path)
    again.load(tmp_path)
    assert again.losses == [(10, 1.0), (20, 0.2)]
    assert again.after_step(30, 1.0, lambda: [("w", weight)]) == "stop"
