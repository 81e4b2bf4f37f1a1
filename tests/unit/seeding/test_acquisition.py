"""One suite for every strategy, and how rows are chosen."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kickwheel.seeding.acquisition import STRATEGIES, Scores, entropy, joint, margin, select
from kickwheel.settings import SeedingSettings

SURE, TORN, LOST = [0.98, 0.01, 0.01], [0.49, 0.49, 0.02], [1 / 3, 1 / 3, 1 / 3]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def score(name: str, rows: list[list[float]], weight: float = 0.5) -> Scores:
    return STRATEGIES[name](np.array(rows), entropy_weight=weight, rng=rng())


@pytest.mark.parametrize("name", STRATEGIES)
def test_scores_are_one_a_row_between_zero_and_one_and_repeatable(name: str) -> None:
    rows = [*np.random.default_rng(1).dirichlet([0.3] * 5, size=40).tolist(), [1.0, 0, 0, 0, 0]]
    first = score(name, rows)
    assert first.shape == (41,)
    assert np.isfinite(first).all()
    assert (first >= 0).all()
    assert (first <= 1).all()
    assert first.tolist() == score(name, rows).tolist()


@pytest.mark.parametrize("name", STRATEGIES)
def test_one_intent_and_an_empty_pool_have_scores_too(name: str) -> None:
    assert np.isfinite(score(name, [[1.0], [1.0]])).all()
    assert STRATEGIES[name](np.ones((0, 3)), entropy_weight=0.5, rng=rng()).shape == (0,)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "random"])
def test_uncertain_rows_score_above_sure_ones(name: str) -> None:
    sure, torn, lost = score(name, [SURE, TORN, LOST])
    assert sure < torn <= lost


def test_scores_are_those_computed_by_hand() -> None:
    table = np.array([[0.5, 0.25, 0.25]])
    known_entropy = 1.5 * np.log(2) / np.log(3)
    assert entropy(table, entropy_weight=0, rng=rng())[0] == pytest.approx(known_entropy)
    assert margin(table, entropy_weight=0, rng=rng())[0] == pytest.approx(0.75)
    assert joint(table, entropy_weight=0.3, rng=rng())[0] == pytest.approx(0.3 * known_entropy + 0.7 * 0.75)


def test_every_strategy_can_be_named_in_the_settings() -> None:
    assert [SeedingSettings(strategy=name).strategy for name in STRATEGIES] == list(STRATEGIES)  # type: ignore[arg-type]


def test_ties_go_by_id_whatever_the_order_of_the_pool() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.5])
    assert select(["c", "x", "a", "b"], scores, 3, rng=rng()) == ["x", "a", "b"]
    assert select(["b", "a", "x", "c"], scores[[3, 2, 1, 0]], 3, rng=rng()) == ["x", "a", "b"]


def test_one_intent_does_not_take_the_whole_round() -> None:
    """webis-de/small-text 24, huggingface/setfit 407."""
    ids = [f"r{n:02d}" for n in range(40)]
    predicted = ["hard"] * 20 + ["b"] * 7 + ["c"] * 7 + ["d"] * 6
    scores = np.linspace(1, 0, 40)
    chosen = Counter(
        dict(zip(ids, predicted, strict=True))[row] for row in select(ids, scores, 12, predicted=predicted, rng=rng())
    )
    assert chosen["hard"] == 6
    assert chosen.total() == 12


def test_a_quota_leaves_no_place_empty() -> None:
    chosen = select(["a", "b", "c", "d"], np.array([0.9, 0.8, 0.7, 0.1]), 4, predicted=["x", "x", "x", "y"], rng=rng())
    assert sorted(chosen) == ["a", "b", "c", "d"]


def test_an_audit_share_is_drawn_from_rows_that_are_not_hard() -> None:
    """webis-de/small-text 24: some confident rows too."""
    ids = [f"r{n:03d}" for n in range(200)]
    chosen = select(ids, np.linspace(1, 0, 200), 20, audit_share=0.2, rng=rng())
    assert chosen[:16] == ids[:16]
    assert len(set(chosen)) == 20
    assert chosen == select(ids, np.linspace(1, 0, 200), 20, audit_share=0.2, rng=rng())
    assert max(chosen[16:]) > "r040"


def test_fewer_rows_than_asked_for_are_all_chosen() -> None:
    assert sorted(select(["a", "b"], np.array([0.1, 0.2]), 60, audit_share=0.1, rng=rng())) == ["a", "b"]
    assert select([], np.array([]), 60, audit_share=0.1, rng=rng()) == []
