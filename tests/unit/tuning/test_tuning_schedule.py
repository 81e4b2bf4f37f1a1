"""Steps within the budget, and a learning rate that fits the steps there are."""

from __future__ import annotations

import pytest

from kickwheel.errors import StageFailed
from kickwheel.tuning.schedule import FEW_STEPS, StepPlan, plan_steps
from schemas.tuning import LoraPlan

LENGTHS = [40 + 7 * (index % 13) for index in range(90)]


def planned(lengths: list[int] = LENGTHS, **changes: object) -> StepPlan:
    return plan_steps(lengths, LoraPlan.model_validate({"batch_size": 4, "max_tokens": 15_000, **changes}))


@pytest.mark.parametrize("budget", [600, 5_000, 15_000])
def test_budget_is_used_up_and_never_broken(budget: int) -> None:
    steps = planned(max_tokens=budget)
    assert steps.tokens == sum(LENGTHS[index] for batch in steps.batches for index in batch)
    assert budget - 4 * max(LENGTHS) < steps.tokens <= budget
    assert list(steps.tokens_through) == sorted(steps.tokens_through)
    assert len(steps.tokens_through) == steps.steps


def test_each_pass_sees_every_row_once_in_another_order() -> None:
    steps = planned()
    seen = [index for batch in steps.batches for index in batch]
    assert sorted(seen[:90]) == sorted(seen[90:180]) == list(range(90))
    assert seen[:90] != seen[90:180]


def test_same_seed_same_batches() -> None:
    assert planned(seed=3) == planned(seed=3)
    assert planned(seed=3).batches != planned(seed=4).batches


def test_batches_hold_rows_of_like_length() -> None:
    padded = sum(len(batch) * max(LENGTHS[index] for index in batch) for batch in planned().batches)
    in_given_order = [LENGTHS[at : at + 4] for at in range(0, 88, 4)]
    unsorted = sum(4 * max(batch) for batch in in_given_order) / sum(map(sum, in_given_order))
    assert padded / planned().tokens < 1 + (unsorted - 1) / 3


def test_warm_up_is_a_share_of_the_steps_that_there_are() -> None:
    """White paper F2: a schedule made for more steps than there are never comes down."""
    short, long = planned(max_tokens=3_000, warmup_share=0.1), planned(max_tokens=15_000, warmup_share=0.1)
    assert (short.warmup_steps, long.warmup_steps) == (round(short.steps / 10), round(long.steps / 10))
    assert f"to 0 at step {short.steps}, the last one" in " ".join(short.reasons)


def test_reasons_name_what_is_odd_about_a_plan() -> None:
    assert not any("few steps" in reason or "every row" in reason for reason in planned().reasons)
    tight = planned(max_tokens=1_000)
    assert tight.steps < FEW_STEPS
    assert any("few steps" in reason for reason in tight.reasons)
    assert any("before every row was seen" in reason for reason in tight.reasons)


def test_nothing_to_train_on_is_refused() -> None:
    with pytest.raises(StageFailed, match="no rows"):
        planned([])


def test_budget_below_one_batch_is_refused_with_both_figures() -> None:
    with pytest.raises(StageFailed, match=r"budget of 100 tokens .* batch of 4 \(120 tokens\)"):
        planned([30] * 8, max_tokens=100)


def test_fewer_rows_than_a_batch_are_one_batch() -> None:
    assert planned([30, 30], max_tokens=130).batches in {((0, 1), (0, 1)), ((0, 1), (1, 0)), ((1, 0), (0, 1)), ((1, 0), (1, 0))}
