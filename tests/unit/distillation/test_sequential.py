"""The confidence sequence and the trial's verdict."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from kickwheel.distillation.sequential import ArmSums, interval, radius, tightest_at
from kickwheel.distillation.trial import ArmName, Exposure, judge_trial
from kickwheel.settings import TrialSettings

SETTINGS = TrialSettings(least_units=20, planned_units=500, least_answers=20)


def exposures(
    arm: ArmName, units: int, completion: float, *, seed: int = 0, latency: float | None = None, failed: float = 0.0
) -> list[Exposure]:
    rng = random.Random(f"{arm}{seed}")
    return [
        Exposure(
            unit=f"user:{arm}-{unit}",
            arm=arm,
            intent=rng.choice(["sync_orders", "fetch_api_logs"]),
            completed=rng.random() < completion,
            failed=rng.random() < failed,
            latency_ms=latency,
        )
        for unit in range(units)
        for _ in range(3)
    ]


def test_the_radius_is_that_of_the_paper() -> None:
    # theorem 2.2 by hand: n = 100, sd = 2, rho = 0.1, alpha = 0.05
    grown = 100 * 0.01 + 1
    by_hand = 2 * math.sqrt(2 * grown / (100**2 * 0.01) * math.log(math.sqrt(grown) / 0.05))
    assert radius(100.0, 2**2 / 100, alpha=0.05, rho=0.1) == pytest.approx(by_hand)


def test_the_interval_is_tightest_where_it_was_asked_to_be() -> None:
    widths = {planned: radius(2000.0, 1 / 2000, alpha=0.05, rho=tightest_at(planned, 0.05)) for planned in (200, 2000, 20_000)}
    assert min(widths, key=widths.__getitem__) == 2000


def test_it_is_wider_than_a_test_that_may_look_once() -> None:
    assert radius(2000.0, 1 / 2000, alpha=0.05, rho=tightest_at(2000, 0.05)) > 1.96 / math.sqrt(2000)


def test_continuous_peeking_rarely_finds_what_is_not_there() -> None:
    # 300 null tests looked at after each of 2,000 pairs of units; 6.2 % is the figure held by benchmarks/ab_null.py for 1,000
    rng = np.random.default_rng(5)
    outcomes = (rng.random((2, 300, 2000)) < 0.7).astype(float)
    n = np.arange(1, 2001, dtype=float)
    mean = outcomes.cumsum(axis=2) / n
    spread = (mean * (1 - mean) / np.maximum(n - 1, 1)).sum(axis=0)
    outside = np.abs(mean[0] - mean[1]) > radius(2 * n, spread, alpha=0.05, rho=tightest_at(2000, 0.05))
    assert outside[:, 100:].any(axis=1).mean() <= 0.08
    naive = np.abs(mean[0] - mean[1]) > 1.96 * np.sqrt(spread)
    assert naive[:, 100:].any(axis=1).mean() > 0.3


def test_no_interval_before_there_are_enough_units() -> None:
    few, many = ArmSums(19, 10, 10), ArmSums(500, 300, 300)
    assert interval(few, many, alpha=0.05, planned_units=500, least_units=20) is None
    assert interval(many, many, alpha=0.05, planned_units=500, least_units=20) is not None


@pytest.mark.parametrize(("new", "decision"), [(0.9, "challenger"), (0.3, "champion"), (0.61, "running")])
def test_a_clear_difference_ends_a_trial_and_a_small_one_does_not(new: float, decision: str) -> None:
    seen = exposures("champion", 300, 0.6) + exposures("challenger", 300, new)
    settings = SETTINGS.model_copy(update={"max_intent_drop": 1.0})
    verdict = judge_trial(seen, settings, experiment="t", challenger_share=0.5)
    assert verdict.decision == decision
    assert "confidence sequence" in verdict.reasons[0]


def test_a_split_of_60_to_40_where_50_to_50_was_asked_is_invalid_and_has_no_winner() -> None:
    seen = exposures("champion", 600, 0.6) + exposures("challenger", 400, 0.9)
    verdict = judge_trial(seen, SETTINGS, experiment="t", challenger_share=0.5)
    assert verdict.decision == "invalid"
    assert verdict.reasons[0].startswith("invalid: sample ratio: units champion 600 / challenger 400")
    assert judge_trial(seen, SETTINGS, experiment="t", challenger_share=0.4).decision == "challenger"


def test_units_that_saw_both_arms_are_left_out() -> None:
    pure = exposures("champion", 100, 0.6) + exposures("challenger", 100, 0.6)
    mixed = [
        Exposure(unit=f"user:both-{number}", arm=arm, intent="sync_orders", completed=arm == "challenger")
        for number in range(50)
        for arm in (("champion", "challenger") if number % 2 else ("challenger", "champion"))
    ]
    verdict = judge_trial(pure + mixed, SETTINGS, experiment="t", challenger_share=0.5)
    assert verdict.mixed_units == 50
    assert verdict.challenger.units == 100
    assert verdict.difference == judge_trial(pure, SETTINGS, experiment="t", challenger_share=0.5).difference


def test_a_unit_counts_once_however_much_it_asks() -> None:
    busy = [Exposure(unit="user:busy", arm="challenger", intent="sync_orders", completed=False) for _ in range(10_000)]
    seen = exposures("champion", 200, 0.6) + exposures("challenger", 200, 0.6)
    with_it = judge_trial(seen + busy, SETTINGS, experiment="t", challenger_share=0.5)
    without = judge_trial(seen, SETTINGS, experiment="t", challenger_share=0.5)
    assert with_it.challenger.completion == pytest.approx(without.challenger.completion, abs=0.004)


def test_errors_latency_and_a_fallen_intent_end_a_trial() -> None:
    old = exposures("champion", 300, 0.6, latency=100.0)
    broken = judge_trial(
        old + exposures("challenger", 300, 0.9, latency=100.0, failed=0.1), SETTINGS, experiment="t", challenger_share=0.5
    )
    assert broken.decision == "guardrail"
    assert broken.reasons[0].startswith("errors: challenger")
    slow = judge_trial(old + exposures("challenger", 300, 0.9, latency=140.0), SETTINGS, experiment="t", challenger_share=0.5)
    assert "latency: P95 of the challenger 140 ms" in slow.reasons[0]
    better = exposures("challenger", 300, 0.9, latency=100.0)
    fallen = [
        Exposure(unit=f"user:challenger-{number}", arm="challenger", intent="archive", completed=False) for number in range(60)
    ] + [Exposure(unit=f"user:champion-{number}", arm="champion", intent="archive", completed=True) for number in range(60)]
    verdict = judge_trial(old + better + fallen, SETTINGS, experiment="t", challenger_share=0.5)
    assert "completion of archive fell by 100.0 points" in verdict.reasons[0]


def test_answers_whose_outcome_is_not_known_are_no_failures() -> None:
    unknown = [Exposure(unit=f"user:x-{n}", arm="challenger", intent="sync_orders") for n in range(300)]
    seen = exposures("champion", 300, 0.6) + unknown
    verdict = judge_trial(seen, SETTINGS, experiment="t", challenger_share=0.5)
    assert verdict.decision == "running"
    assert verdict.challenger.judged_units == 0


def test_nothing_seen_is_running() -> None:
    verdict = judge_trial([], SETTINGS, experiment="t", challenger_share=0.5)
    assert verdict.decision == "running"
    assert verdict.sample_ratio_p is None
