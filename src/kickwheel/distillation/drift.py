"""Whether what users ask has moved away from what the student learnt on, told without labels.

Two figures. The population stability index of the answered intents: the sum over intents of (now - then) * ln(now / then), the
symmetric Kullback-Leibler divergence that credit scoring made a habit; below 0.1 little has moved, above 0.25 much has
(Siddiqi 2006; it is about chi-square / n, Yurdakul 2018, so small samples are noisy: hence a least number of answers). And the
share of answers whose confidence is below the threshold: novelty that falls into no known intent shows there first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

SMOOTHING = 0.5
"""Rows added to each intent: one that was never seen must not give an infinite index."""


@dataclass(frozen=True)
class Drift:
    """Figures of recent answers against earlier ones."""

    answers: int
    stability_index: float
    low_confidence: float
    low_confidence_before: float


def stability_index(then: Sequence[str], now: Sequence[str]) -> float:
    """Population stability index of two samples of categories; 0 where either is empty."""
    if not then or not now:
        return 0.0
    before, after = Counter(then), Counter(now)
    names = sorted({*before, *after})
    total = 0.0
    for name in names:
        old = (before[name] + SMOOTHING) / (len(then) + SMOOTHING * len(names))
        new = (after[name] + SMOOTHING) / (len(now) + SMOOTHING * len(names))
        total += (new - old) * math.log(new / old)
    return total


def low_share(confidences: Sequence[float | None], threshold: float) -> float:
    """Share of the known confidences below ``threshold``; 0 where none is known."""
    known = [value for value in confidences if value is not None]
    return sum(value < threshold for value in known) / len(known) if known else 0.0
