"""How unsure a student is of its intents: from tables of probabilities to three numbers a row.

Scores lie in [0, 1], higher is harder. Entropy is Shannon's over log of the number of intents; margin is 1 - (p1 - p2), the
"breaking ties" of Luo et al. 2005; their weighted sum is the joint score (white paper F10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kickwheel.errors import StageFailed

Scores = NDArray[np.float64]
Table = NDArray[np.floating[Any]]
"""(rows, intents) probabilities, float32 or float64."""


@dataclass(frozen=True)
class Survey:
    """What acquisition keeps of the probabilities of a pool: 24 bytes a row, however many intents there are."""

    entropy: Scores
    margin: Scores
    predicted: NDArray[np.intp]
    """Column of the likeliest intent."""


def survey(tables: Iterable[Table]) -> Survey:
    """Three numbers a row from tables of probabilities, taken one after another: only one of them is in memory at a time.

    Raises:
        StageFailed: a probability is no number or not within [0, 1]; names the row, counted from 0 over all tables.
    """
    parts: list[Survey] = []
    rows = 0
    for table in tables:
        _check(table, rows)
        parts.append(Survey(entropy(table), margin(table), table.argmax(axis=1)))
        rows += len(table)
    if not parts:
        return Survey(np.empty(0), np.empty(0), np.empty(0, dtype=np.intp))
    return Survey(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("entropy", "margin", "predicted")))


def entropy(probabilities: Table) -> Scores:
    """Normalised entropy; 0 where there is a single intent."""
    classes = probabilities.shape[1]
    if classes < 2:
        return np.zeros(len(probabilities))
    logs = np.log(np.maximum(probabilities, np.finfo(probabilities.dtype).tiny))
    nats = -(probabilities * logs).sum(axis=1, dtype=np.float64)
    return np.asarray(np.clip(nats / math.log(classes), 0.0, 1.0))


def margin(probabilities: Table) -> Scores:
    """One minus the lead of the likeliest intent over the next; 0 where there is a single intent."""
    classes = probabilities.shape[1]
    if classes < 2:
        return np.zeros(len(probabilities))
    top = np.partition(probabilities, classes - 2, axis=1)[:, classes - 2 :].astype(np.float64)
    return np.asarray(np.clip(1.0 - (top[:, 1] - top[:, 0]), 0.0, 1.0))


def _check(table: Table, before: int) -> None:
    # NaN is the minimum of whatever holds one, and fails both bounds.
    if len(table) and not (table.min() >= 0.0 and table.max() <= 1.0 + 1e-6):
        within = ((table >= 0.0) & (table <= 1.0 + 1e-6)).all(axis=1)
        row = int(np.flatnonzero(~within)[0])
        raise StageFailed(
            f"pool row {before + row}: its intent probabilities hold {table[row].min()} to {table[row].max()}, expected "
            "numbers from 0 to 1: the student that scores the pool is broken, train it again"
        )
