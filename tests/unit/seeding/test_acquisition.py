"""What every strategy keeps to, and what each is for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from kickwheel.errors import StageFailed
from kickwheel.seeding.acquisition import STRATEGIES, entropy, margin, survey
from kickwheel.settings import SeedingSettings
from tests.unit.seeding.acquisition_world import INTENTS, candidates, chosen, table, vectors

SURE, TORN, LOST = [0.98, 0.01, 0.01], [0.49, 0.49, 0.02], [1 / 3, 1 / 3, 1 / 3]
BY_UNCERTAINTY = ("joint", "entropy", "margin", "slots")


@pytest.fixture(params=STRATEGIES)
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_strategy_can_be_named_in_the_settings() -> None:
    assert set(get_args(SeedingSettings.model_fields["strategy"].annotation)) == set(STRATEGIES)


def test_choice_repeats_under_a_seed_and_whatever_the_order_of_the_pool(strategy: str) -> None:
    probabilities = table(120)
    first = chosen(candidates(probabilities), 20, strategy, audit=0.2)
    assert first == chosen(candidates(probabilities), 20, strategy, audit=0.2)
    shuffled = np.random.default_rng(3).permutation(120).tolist()
    assert first == chosen(candidates(probabilities, order=shuffled), 20, strategy, audit=0.2)


def test_choice_holds_no_row_twice_and_none_that_is_labelled(strategy: str) -> None:
    pool = candidates(table(60))
    taken = chosen(pool, 40, strategy)
    rest = chosen(pool, 40, strategy, labelled=taken, audit=0.3)
    assert len(set(taken)) == 40
    assert sorted([*taken, *rest]) == sorted(pool.ids)


@pytest.mark.parametrize("k", [0, 1, 7, 500])
def test_choice_is_as_large_as_asked_or_as_the_pool(strategy: str, k: int) -> None:
    assert len(chosen(candidates(table(30)), k, strategy, audit=0.1)) == min(k, 30)


def test_pool_of_none_gives_none(strategy: str) -> None:
    assert chosen(candidates(table(0)), 5, strategy, audit=0.5) == []


def test_one_intent_is_enough(strategy: str) -> None:
    assert len(set(chosen(candidates(np.ones((9, 1))), 4, strategy))) == 4


def test_rows_that_are_all_alike_are_taken_by_id(strategy: str) -> None:
    """Equal scores, equal vectors: nothing but the id tells them apart, and k-means finds a single cluster."""
    same = candidates(np.full((12, 4), 0.25), embedded=np.tile(vectors(1), (12, 1)))
    same = replace(same, spans=np.full(12, 0.5))
    taken = chosen(same, 5, strategy)
    assert len(set(taken)) == 5
    if strategy != "random":
        assert taken == sorted(same.ids)[:5]


def test_a_share_is_drawn_from_rows_that_no_strategy_wants(strategy: str) -> None:
    """webis-de/small-text 24: some confident rows too."""
    pool = candidates(table(200))
    blind = chosen(pool, 20, strategy, audit=0.25)
    assert blind[:15] == chosen(pool, 15, strategy)
    assert len(set(blind)) == 20


@pytest.mark.parametrize("broken", [np.nan, -0.1, np.inf])
def test_numbers_that_are_none_are_refused_with_their_row(broken: float) -> None:
    probabilities = table(10)
    probabilities[7, 1] = broken
    with pytest.raises(StageFailed, match=r"pool row 17: .*expected numbers from 0 to 1"):
        survey([table(10), probabilities])
    scores = candidates(table(10)).entropy.copy()
    scores[3] = np.nan
    with pytest.raises(StageFailed, match=r"'行-0003😀': its entropy is nan"):
        replace(candidates(table(10)), entropy=scores)
    with pytest.raises(StageFailed, match="its spans is"):
        replace(candidates(table(10)), spans=np.full(10, 2.0))


def test_two_rows_of_one_id_and_columns_of_another_length_are_refused() -> None:
    with pytest.raises(StageFailed, match="same id"):
        candidates(table(3), ids=["a", "b", "a"])
    with pytest.raises(StageFailed, match="3 rows of the pool, but 2 scores of margin"):
        replace(candidates(table(3)), margin=np.zeros(2))
    with pytest.raises(StageFailed, match="3 rows of the pool, but 1 predicted"):
        replace(candidates(table(3)), predicted=np.zeros(1, dtype=np.intp))


def test_scores_are_those_computed_by_hand() -> None:
    probabilities = np.array([[0.5, 0.25, 0.25]])
    known = 1.5 * np.log(2) / np.log(3)
    assert entropy(probabilities)[0] == pytest.approx(known)
    assert margin(probabilities)[0] == pytest.approx(0.75)
    assert candidates(probabilities).joint(0.3)[0] == pytest.approx(0.3 * known + 0.7 * 0.75)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_survey_in_pieces_is_that_of_the_whole(dtype: type[np.floating]) -> None:
    probabilities = np.vstack([table(50), [[1.0, 0, 0, 0], [0.25] * 4]]).astype(dtype)
    whole, pieces = survey([probabilities]), survey(probabilities[a : a + 9] for a in range(0, 52, 9))
    for name in ("entropy", "margin", "predicted"):
        assert getattr(whole, name).tolist() == getattr(pieces, name).tolist()
    assert whole.entropy[-2:].tolist() == pytest.approx([0, 1])
    assert whole.margin[-2:].tolist() == pytest.approx([0, 1])
    assert survey([]).entropy.shape == (0,)


@pytest.mark.parametrize("name", BY_UNCERTAINTY)
def test_uncertain_rows_come_before_sure_ones(name: str) -> None:
    pool = replace(candidates(np.array([SURE, TORN, LOST]), ids=["sure", "torn", "lost"]), spans=None)
    assert chosen(pool, 3, name)[-1] == "sure"


@pytest.mark.parametrize("name", BY_UNCERTAINTY)
def test_one_intent_does_not_take_the_whole_round(name: str) -> None:
    """webis-de/small-text 24, huggingface/setfit 407."""
    leads = np.linspace(0.3, 0.9, 40)
    intents = [0] * 20 + [1] * 7 + [2] * 7 + [3] * 6
    probabilities = np.array(
        [[lead if k == intent else (1 - lead) / 3 for k in range(4)] for lead, intent in zip(leads, intents, strict=True)]
    )
    pool = replace(candidates(probabilities), spans=None)
    places = Counter(int(pool.predicted[pool.ids.index(row)]) for row in chosen(pool, 12, name))
    assert places[0] == 6
    assert places.total() == 12


def test_a_quota_leaves_no_place_empty() -> None:
    pool = candidates(np.array([[0.5, 0.3, 0.2], [0.5, 0.4, 0.1], [0.5, 0.45, 0.05], [0.1, 0.8, 0.1]]))
    assert sorted(chosen(pool, 4, "margin")) == sorted(pool.ids)


def test_unsure_spans_count_where_the_intent_is_sure() -> None:
    pool = replace(candidates(np.array([SURE, TORN, SURE]), ids=["plain", "torn", "spans"]), spans=np.array([0.0, 0.0, 0.99]))
    assert chosen(pool, 1, "slots") == ["spans"]
    assert chosen(pool, 1, "joint") == ["torn"]


def test_balance_lifts_the_intents_with_the_fewest_labels() -> None:
    pool = candidates(np.repeat(np.eye(4) * 0.6 + 0.1, 10, axis=0), labelled={INTENTS[0]: 9, INTENTS[1]: 3, INTENTS[2]: 1})
    places = Counter(int(pool.predicted[pool.ids.index(row)]) for row in chosen(pool, 8, "balanced"))
    assert places == {3: 4, 2: 3, 1: 1}


def test_diversity_takes_one_row_of_each_group() -> None:
    """Twelve near-copies of one hard row would be the choice of any other strategy."""
    centres = np.eye(8, dtype=np.float32)[:5]
    embedded = np.vstack([np.tile(centres[0], (12, 1)), *[np.tile(row, (3, 1)) for row in centres[1:]]])
    embedded += np.random.default_rng(0).normal(scale=0.01, size=embedded.shape).astype(np.float32)
    probabilities = np.vstack([np.full((12, 4), 0.25), np.tile([0.4, 0.3, 0.2, 0.1], (12, 1))])
    pool = candidates(probabilities, embedded=embedded)
    groups = [pool.ids.index(row) for row in chosen(pool, 5, "diversity")]
    assert sorted(0 if i < 12 else 1 + (i - 12) // 3 for i in groups) == [0, 1, 2, 3, 4]


def test_diversity_needs_vectors_of_numbers() -> None:
    with pytest.raises(StageFailed, match="give it an embedder"):
        chosen(replace(candidates(table(9)), embed=None), 3, "diversity")
    with pytest.raises(StageFailed, match="its embedding holds no numbers"):
        chosen(candidates(table(9), embedded=np.full((9, 8), np.nan, dtype=np.float32)), 3, "diversity")


def test_vectors_are_asked_for_a_shortlist_only() -> None:
    asked: list[int] = []
    pool = candidates(table(300))

    def embed(positions: np.ndarray) -> np.ndarray:
        asked.extend(positions.tolist())
        return vectors(300)[positions]

    chosen(replace(pool, embed=embed), 4, "diversity")
    assert len(asked) == 40
