"""The strategies by name: every one takes candidates and a number of rows, and gives back positions.

The hardest rows alone would be the ambiguous ones of one or two intents (webis-de/small-text 24, huggingface/setfit 407):
where a strategy goes by uncertainty, no predicted intent gets more than twice its even share as long as others have rows.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from kickwheel.seeding.acquisition.candidates import Candidates, Positions
from kickwheel.seeding.acquisition.diversity import spread
from kickwheel.seeding.acquisition.uncertainty import Scores


class Strategy(Protocol):
    """What makes rows worth a label; every strategy has this one signature."""

    def __call__(self, candidates: Candidates, k: int, *, entropy_weight: float, rng: np.random.Generator) -> Positions:
        """``min(k, rows)`` different positions, most wanted first; the order of the pool does not matter.

        Args:
            entropy_weight: weight of entropy in the joint score; margin has the rest.
        """
        ...


def _hardest(score: Callable[[Candidates, float], Scores]) -> Strategy:
    def strategy(candidates: Candidates, k: int, *, entropy_weight: float, rng: np.random.Generator) -> Positions:
        return _within_quota(candidates, candidates.ranked(score(candidates, entropy_weight)), k)

    return strategy


def _whole_frame(candidates: Candidates, entropy_weight: float) -> Scores:
    """How unsure of the whole frame: it is wrong if the intent or any span is. The intent alone where there are no slots."""
    intent = candidates.joint(entropy_weight)
    return intent if candidates.spans is None else 1.0 - (1.0 - intent) * (1.0 - candidates.spans)


def balanced(candidates: Candidates, k: int, *, entropy_weight: float, rng: np.random.Generator) -> Positions:
    """Each place goes to the predicted intent with the fewest rows, labelled and chosen ones together; its hardest row first.

    For rare intents (huggingface/setfit 407, 540): they get places until they have caught up.
    """
    ranked = candidates.ranked(candidates.joint(entropy_weight))
    queues: dict[int, list[int]] = {}
    by_intent = ranked[np.argsort(candidates.predicted[ranked], kind="stable")]
    starts = np.flatnonzero(np.diff(candidates.predicted[by_intent], prepend=-1))
    for queue in np.split(by_intent, starts[1:]) if len(by_intent) else ():
        queues[int(candidates.predicted[queue[0]])] = queue[: max(k, 0)][::-1].tolist()
    levels = [(candidates.labelled.get(candidates.intents[intent], 0), candidates.intents[intent], intent) for intent in queues]
    heapq.heapify(levels)
    chosen: list[int] = []
    while levels and len(chosen) < k:
        level, name, intent = heapq.heappop(levels)
        chosen.append(queues[intent].pop())
        if queues[intent]:
            heapq.heappush(levels, (level + 1, name, intent))
    return np.array(chosen, dtype=np.intp)


def random(candidates: Candidates, k: int, *, entropy_weight: float, rng: np.random.Generator) -> Positions:
    """The control that every strategy has to beat (webis-de/small-text 20)."""
    return candidates.by_id[rng.choice(len(candidates), size=min(k, len(candidates)), replace=False)]


STRATEGIES: Mapping[str, Strategy] = {
    "joint": _hardest(lambda candidates, weight: candidates.joint(weight)),
    "entropy": _hardest(lambda candidates, weight: candidates.entropy),
    "margin": _hardest(lambda candidates, weight: candidates.margin),
    "slots": _hardest(_whole_frame),
    "balanced": balanced,
    "diversity": spread,
    "random": random,
}


def _within_quota(candidates: Candidates, ranked: Positions, k: int) -> Positions:
    """The first ``k`` of a ranking that keep to the quota; rows beyond it only where places would stay empty."""
    predicted = candidates.predicted[ranked]
    groups = len(np.unique(predicted))
    if groups < 2:
        return ranked[:k]
    grouped = np.argsort(predicted, kind="stable")
    sizes = np.unique(predicted, return_counts=True)[1]
    nth = np.empty(len(ranked), dtype=np.intp)
    nth[grouped] = np.arange(len(ranked)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fits = nth < math.ceil(2 * k / groups)
    return np.concatenate([ranked[fits], ranked[~fits]])[:k]
