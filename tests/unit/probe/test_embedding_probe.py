"""Logistic regression on vectors: few classes, none, and what self-training adds."""

from __future__ import annotations

import numpy as np
import pytest

from kickwheel.errors import StageFailed
from kickwheel.probe.embedding_probe import EmbeddingProbe, SelfTraining

PLAN = SelfTraining()
CENTRES = np.eye(6, dtype=np.float32)[:3]


def cloud(rows: int, seed: int, noise: float = 0.35) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    intents = np.arange(rows) % 3
    found = CENTRES[intents] + rng.normal(scale=noise, size=(rows, 6)).astype(np.float32)
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32), intents


def right(probe: EmbeddingProbe) -> float:
    vectors, intents = cloud(900, seed=9)
    return float((probe.probabilities(vectors).argmax(axis=1) == intents).mean())


def test_rows_sum_to_one_and_an_intent_without_rows_gets_nothing() -> None:
    vectors, intents = cloud(30, seed=0)
    table = EmbeddingProbe.fit(vectors, intents.tolist(), count=5, plan=PLAN).probabilities(vectors)
    assert table.shape == (30, 5)
    assert table.sum(axis=1) == pytest.approx(1)
    assert table[:, 3:].max() < 1e-6
    assert (table.argmax(axis=1) == intents).all()


@pytest.mark.parametrize("intents", [[0], [0, 2], [2, 0]])
def test_one_or_two_intents_are_enough(intents: list[int]) -> None:
    probe = EmbeddingProbe.fit(CENTRES[intents], intents, count=3, plan=PLAN)
    assert probe.probabilities(CENTRES[intents]).argmax(axis=1).tolist() == intents


def test_unlabelled_rows_help_and_only_where_they_have_weight() -> None:
    gains = []
    for seed in range(6):
        vectors, intents = cloud(3, seed)
        pool, _ = cloud(600, seed + 20)
        alone = EmbeddingProbe.fit(vectors, intents.tolist(), count=3, plan=PLAN)
        helped = EmbeddingProbe.fit(vectors, intents.tolist(), count=3, unlabelled=pool, plan=PLAN)
        without = EmbeddingProbe.fit(vectors, intents.tolist(), count=3, unlabelled=pool, plan=SelfTraining(weight=0))
        assert without.weights.tolist() == alone.weights.tolist()
        gains.append(right(helped) - right(alone))
    assert min(gains) > 0


def test_nothing_labelled_is_told() -> None:
    with pytest.raises(StageFailed, match="at least one labelled row"):
        EmbeddingProbe.fit(np.empty((0, 6), dtype=np.float32), [], count=3, plan=PLAN)
