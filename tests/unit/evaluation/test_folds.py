"""Cross-validation: each row is tested once, by a student that has not seen it, and every fold has every intent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from kickwheel.evaluation.folds import cross_validate, stratified_folds
from schemas.frame import Frame, Prediction
from schemas.utterance import Utterance

ROWS = [
    Utterance(id=f"r{k}", text=f"text {k}", language="en", frame=Frame(intent="rare" if k % 6 == 0 else "common"))
    for k in range(30)
]


def test_folds_part_the_rows_and_share_each_intent() -> None:
    folds = stratified_folds(ROWS, 5, seed=1)
    assert sorted(index for fold in folds for index in fold) == list(range(30))
    for fold in folds:
        assert Counter(ROWS[index].frame.intent for index in fold) == {"common": 5, "rare": 1}  # type: ignore[union-attr]
    assert folds == stratified_folds(ROWS, 5, seed=1) != stratified_folds(ROWS, 5, seed=2)


class Memory:
    """Knows what it was fitted on, and takes all else for common."""

    name = "memory"

    def __init__(self, rows: Sequence[Utterance]):
        self.known = {row.text for row in rows}

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        assert not self.known & set(texts)
        return [Prediction(frame=Frame(intent="common")) for _ in texts]


def test_no_row_is_scored_by_a_student_that_has_seen_it() -> None:
    found = cross_validate(ROWS, Memory, student="memory", folds=5, seed=0)
    assert found is not None
    assert (found.rows, found.folds) == (30, 5)
    assert found.intent_accuracy == pytest.approx(25 / 30)
    assert found.intent_deviation == pytest.approx(0)


def test_too_few_rows_or_one_fold_is_none() -> None:
    assert cross_validate(ROWS[:3], Memory, student="memory", folds=5, seed=0) is None
    assert cross_validate(ROWS, Memory, student="memory", folds=1, seed=0) is None
