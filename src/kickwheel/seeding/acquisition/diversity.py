"""Rows that are hard and unlike one another: k-means over the hardest, one row a cluster (Zhdanov 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from kickwheel.errors import StageFailed
from kickwheel.seeding.acquisition.candidates import Candidates, Positions

SHORTLIST = 10
"""Hard rows that compete for each place; Zhdanov 2019 finds 10 to 50 alike, and the clustering costs what they are many."""
_PASSES = 30


def spread(candidates: Candidates, k: int, *, entropy_weight: float, rng: np.random.Generator) -> Positions:
    """Of the ``SHORTLIST * k`` hardest rows (joint score), the one nearest to each centre of ``k`` clusters, hardest first.

    Hard rows pull the centres towards them. Where rows are so alike that there are fewer clusters, the hardest rows fill up.

    Raises:
        StageFailed: there are no vectors, or one holds no numbers.
    """
    scores = candidates.joint(entropy_weight)
    shortlist = candidates.ranked(scores)[: SHORTLIST * max(k, 0)]
    if len(shortlist) <= k:
        return shortlist
    vectors = _vectors(candidates, shortlist)
    clusters = min(k, len(np.unique(vectors, axis=0)))
    seed = int(rng.integers(2**31 - 1))
    weights = scores[shortlist] + 1e-6  # a row of weight 0 could start no cluster
    # One thread: with several the sums depend on which is first, and with them the choice.
    with threadpool_limits(limits=1):
        distances = KMeans(clusters, n_init=1, max_iter=_PASSES, random_state=seed).fit_transform(
            vectors, sample_weight=weights.astype(vectors.dtype)
        )
    nearest = np.full(len(shortlist), False)
    owner = distances.argmin(axis=1)
    own = distances[np.arange(len(shortlist)), owner]
    for cluster in range(clusters):
        members = np.flatnonzero(owner == cluster)
        if len(members):
            nearest[members[own[members].argmin()]] = True
    return np.concatenate([shortlist[nearest], shortlist[~nearest]])[:k]


def _vectors(candidates: Candidates, shortlist: Positions) -> NDArray[np.float32]:
    if candidates.embed is None:
        raise StageFailed("the strategy 'diversity' compares rows by their embeddings, and there are none: give it an embedder")
    vectors = candidates.embed(shortlist)
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise StageFailed(f"pool row {candidates.ids[shortlist[row]]!r}: its embedding holds no numbers; try another embedder")
    return vectors
