"""Candidates for the acquisition tests: Dirichlet tables, unit vectors, ids that are Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kickwheel.seeding.acquisition import Candidates, select, survey

INTENTS = ("订单同步", "fetch_logs", "enrich_profiles", "out_of_scope")


def table(rows: int, classes: int = len(INTENTS), seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet([0.4] * classes, size=rows)


def vectors(rows: int, seed: int = 0) -> NDArray[np.float32]:
    found = np.random.default_rng(seed).normal(size=(rows, 8)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def candidates(
    probabilities: NDArray[np.float64],
    *,
    ids: Sequence[str] = (),
    order: Sequence[int] = (),
    labelled: Mapping[str, int] | None = None,
    embedded: NDArray[np.float32] | None = None,
) -> Candidates:
    """Candidates of a table; ``order`` shuffles the pool without changing any row."""
    rows = len(probabilities)
    order = list(order) or list(range(rows))
    names = [(list(ids) or [f"行-{n:04d}😀" for n in range(rows)])[i] for i in order]
    found = survey([probabilities[order]])
    kept = (vectors(rows) if embedded is None else embedded)[order]
    spans = np.random.default_rng(5).random(rows)[order]
    return Candidates(
        ids=names,
        entropy=found.entropy,
        margin=found.margin,
        predicted=found.predicted,
        intents=INTENTS[: probabilities.shape[1]],
        spans=spans,
        embed=lambda positions: kept[positions],
        labelled=labelled or {},
    )


def chosen(
    pool: Candidates, k: int, strategy: str, *, seed: int = 0, audit: float = 0.0, labelled: Sequence[str] = ()
) -> list[str]:
    return select(pool, k, strategy=strategy, audit_share=audit, labelled=labelled, rng=np.random.default_rng(seed))
