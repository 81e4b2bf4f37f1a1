"""Every batch of an encoder's fine-tuning, known before it begins: labelled rows in each, rows of like length together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kickwheel.tuning.encoder import EncoderPlan

WINDOW = 16
"""Batches whose rows are sorted by length together: hardly any padding, and still another mix in each pass."""

Batch = NDArray[np.intp]


def plan_batches(
    lengths: Sequence[int], labelled: NDArray[np.bool_], weights: NDArray[np.float32], plan: EncoderPlan
) -> list[Batch]:
    """Indices of the rows of each step; rows of weight 0 are in none. Deterministic under ``plan.seed``."""
    rng = np.random.default_rng(plan.seed)
    size = np.asarray(lengths)
    ours, others = np.flatnonzero(labelled & (weights > 0)), np.flatnonzero(~labelled & (weights > 0))
    if not len(others) or not len(ours):
        every = ours if len(ours) else others
        steps = _steps(plan, len(every), plan.batch_size)
        return [batch for batch, _ in zip(_passes(every, size, plan.batch_size, rng), range(steps), strict=False)]
    mine = min(max(1, round(plan.batch_size * plan.labelled_share)), plan.batch_size - 1)
    steps = _steps(plan, len(others), plan.batch_size - mine)
    parts = zip(_passes(others, size, plan.batch_size - mine, rng), _passes(ours, size, mine, rng), range(steps), strict=False)
    return [np.concatenate([a, b]) for a, b in _alike(list(parts), size)]


def _steps(plan: EncoderPlan, rows: int, count: int) -> int:
    steps = max(1, math.ceil(plan.epochs * rows / count))
    return min(steps, plan.max_steps) if plan.max_steps else steps


def _alike(parts: Sequence[tuple[Batch, Batch, int]], size: NDArray[np.intp]) -> Iterator[tuple[Batch, Batch]]:
    """Pairs of long with long and short with short, within windows of steps."""
    for start in range(0, len(parts), WINDOW):
        window = parts[start : start + WINDOW]
        first = sorted((a for a, _, _ in window), key=lambda batch: int(size[batch].max()))
        second = sorted((b for _, b, _ in window), key=lambda batch: int(size[batch].max()))
        order = {id(a): b for a, b in zip(first, second, strict=True)}
        yield from ((a, order[id(a)]) for a, _, _ in window)


def _passes(rows: Batch, size: NDArray[np.intp], count: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Batches of ``count`` rows for ever; every pass holds each row once, what is left over begins the next."""
    left = np.empty(0, dtype=np.intp)
    while True:
        order = np.concatenate([left, rng.permutation(rows)])
        whole = len(order) // count * count
        left, order = order[whole:], order[:whole]
        batches: list[Batch] = []
        for start in range(0, whole, count * WINDOW):
            window = order[start : start + count * WINDOW]
            window = window[np.argsort(size[window], kind="stable")]
            batches += [window[at : at + count] for at in range(0, len(window), count)]
        yield from (batches[i] for i in rng.permutation(len(batches)))
