"""A round's rows: what a strategy wants, and a share drawn blindly."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kickwheel.seeding.acquisition.candidates import Candidates
from kickwheel.seeding.acquisition.strategies import STRATEGIES


def select(
    candidates: Candidates,
    k: int,
    *,
    strategy: str,
    entropy_weight: float = 0.5,
    audit_share: float = 0.0,
    labelled: Collection[str] = (),
    rng: np.random.Generator,
) -> list[str]:
    """Ids of at most ``k`` rows, none of them twice and none among ``labelled``; the same whatever the order of the pool.

    ``audit_share`` of them is drawn from the rest of the pool whatever its score: hard rows alone tell nothing of how good
    the labels of the others are, and a model that is surely wrong is never asked (webis-de/small-text 24).
    """
    candidates = candidates.without(labelled)
    k = min(k, len(candidates))
    audit = round(audit_share * k)
    chosen = STRATEGIES[strategy](candidates, k - audit, entropy_weight=entropy_weight, rng=rng)
    blind: list[int] = []
    if audit:
        free = np.ones(len(candidates), dtype=bool)
        free[chosen] = False
        rest = candidates.by_id[free[candidates.by_id]]
        blind = rest[rng.choice(len(rest), size=audit, replace=False)].tolist()
    return [candidates.ids[i] for i in [*chosen.tolist(), *blind]]
