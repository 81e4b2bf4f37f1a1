"""Which pool rows are worth a label: scores from intent probabilities, and a choice that does not fool itself.

Scores lie in [0, 1], higher is harder. Entropy is Shannon's over log of the number of intents; margin is 1 - (p1 - p2), the
"breaking ties" of Luo et al. 2005; joint weighs the two (white paper F10).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


class Strategy(Protocol):
    """Scores of pool rows; every strategy has this one signature."""

    def __call__(self, probabilities: Scores, *, entropy_weight: float, rng: np.random.Generator) -> Scores:
        """(rows, intents) probabilities in, one score a row out."""
        ...


def entropy(probabilities: Scores, *, entropy_weight: float, rng: np.random.Generator) -> Scores:
    """Normalised entropy; 0 where there is a single intent."""
    classes = probabilities.shape[1]
    if classes < 2:
        return np.zeros(len(probabilities))
    logs = np.log(np.clip(probabilities, 1e-300, None))
    return np.asarray(np.clip(-(probabilities * logs).sum(axis=1) / math.log(classes), 0.0, 1.0))


def margin(probabilities: Scores, *, entropy_weight: float, rng: np.random.Generator) -> Scores:
    """One minus the lead of the likeliest intent over the next."""
    if probabilities.shape[1] < 2:
        return np.zeros(len(probabilities))
    ordered = np.sort(probabilities, axis=1)
    return np.asarray(1.0 - (ordered[:, -1] - ordered[:, -2]))


def joint(probabilities: Scores, *, entropy_weight: float, rng: np.random.Generator) -> Scores:
    """Weighted sum of entropy and margin."""
    parts = [score(probabilities, entropy_weight=entropy_weight, rng=rng) for score in (entropy, margin)]
    return entropy_weight * parts[0] + (1.0 - entropy_weight) * parts[1]


def random(probabilities: Scores, *, entropy_weight: float, rng: np.random.Generator) -> Scores:
    """The control that every strategy has to beat (webis-de/small-text 20)."""
    return rng.random(len(probabilities))


STRATEGIES: Mapping[str, Strategy] = {"joint": joint, "entropy": entropy, "margin": margin, "random": random}


def select(
    ids: Sequence[str],
    scores: Scores,
    k: int,
    *,
    predicted: Sequence[str] = (),
    audit_share: float = 0.0,
    rng: np.random.Generator,
) -> list[str]:
    """Ids of at most ``k`` rows: the hardest, spread over intents, and a share drawn blindly. Ties go by id.

    Hardest rows alone would be the ambiguous ones of one or two intents (webis-de/small-text 24, huggingface/setfit 407): no
    predicted intent gets more than twice its even share as long as others have rows, and ``audit_share`` of the choice is
    drawn from the rest of the pool whatever its score.
    """
    k = min(k, len(ids))
    audit = round(audit_share * k)
    ranked = [ids[i] for i in sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i]))]
    chosen = _within_quota(ranked, k - audit, dict(zip(ids, predicted, strict=True)) if predicted else {})
    rest = sorted(set(ids) - set(chosen))
    blind = rng.choice(len(rest), size=audit, replace=False) if audit else ()
    return chosen + [rest[i] for i in blind]


def _within_quota(ranked: Sequence[str], k: int, intents: Mapping[str, str]) -> list[str]:
    groups = len(set(intents.values()))
    quota = math.ceil(2 * k / groups) if groups > 1 else k
    taken: Counter[str] = Counter()
    chosen: list[str] = []
    passed: list[str] = []
    for row in ranked:
        intent = intents.get(row, "")
        if len(chosen) < k and taken[intent] < quota:
            taken[intent] += 1
            chosen.append(row)
        else:
            passed.append(row)
    return chosen + passed[: k - len(chosen)]
