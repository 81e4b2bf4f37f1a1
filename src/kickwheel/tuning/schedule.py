"""Every step of a training, known before it begins: batches within the token budget, and a learning rate that fits them.

The classic mistake on little data is a decay made for more steps than there are (white paper F2: cosine with T_max 200 where
30 are run): the rate never comes down. Here the decay ends with the last step, because the steps are counted first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kickwheel.errors import StageFailed
from schemas.tuning import LoraPlan

WINDOW = 8
"""Batches whose rows are sorted by length together: hardly any padding, and still another mix in each pass."""

FEW_STEPS = 30


@dataclass(frozen=True)
class StepPlan:
    """What a training will do, step by step."""

    batches: tuple[tuple[int, ...], ...]
    """Indices of the examples of each step."""
    tokens_through: tuple[int, ...]
    """Trained tokens at the end of each step."""
    warmup_steps: int
    reasons: tuple[str, ...]

    @property
    def steps(self) -> int:
        """Optimiser steps."""
        return len(self.batches)

    @property
    def tokens(self) -> int:
        """Trained tokens in all; at most the budget."""
        return self.tokens_through[-1]


def plan_steps(lengths: Sequence[int], plan: LoraPlan, *, alike: bool = True) -> StepPlan:
    """Batches of ``plan.batch_size`` examples, pass after pass in a new order, until the next one would break the budget.

    ``lengths`` are the examples' tokens, padding not counted. ``alike`` puts rows of like length into one batch, which saves
    padding; without it every batch has about as many tokens, which packed batches of one shape want. Deterministic under
    ``plan.seed``.

    Raises:
        StageFailed: there are no examples, or the budget does not hold the first batch.
    """
    if not lengths:
        raise StageFailed("there are no rows to train on")
    batches: list[tuple[int, ...]] = []
    tokens_through: list[int] = []
    spent = 0
    rng = random.Random(plan.seed)  # noqa: S311 - a reproducible order
    for batch in _passes(lengths, plan.batch_size, rng, alike):
        spent += sum(lengths[index] for index in batch)
        if spent > plan.max_tokens:
            break
        batches.append(batch)
        tokens_through.append(spent)
    if not batches:
        raise StageFailed(
            f"the budget of {plan.max_tokens} tokens does not hold one batch of {plan.batch_size} ({spent} tokens): "
            "raise max_tokens or lower batch_size"
        )
    warmup = round(plan.warmup_share * len(batches))
    passes = sum(map(len, batches)) / len(lengths)
    reasons = [
        f"{len(batches)} steps of {plan.batch_size}: {passes:.1f} passes over {len(lengths)} rows are "
        f"{tokens_through[-1]:,} tokens, what the budget of {plan.max_tokens:,} allows",
        f"{warmup} warm-up steps: {plan.warmup_share:.0%} of the steps that there are",
        f"{plan.decay} decay from {plan.learning_rate:g} to 0 at step {len(batches)}, the last one",
    ]
    if len(batches) < FEW_STEPS:
        reasons.append(f"few steps: below {FEW_STEPS} an adapter learns little; raise max_tokens or lower batch_size")
    if passes < 1:
        reasons.append("the budget ends before every row was seen once")
    return StepPlan(tuple(batches), tuple(tokens_through), warmup, tuple(reasons))


def _passes(lengths: Sequence[int], batch_size: int, rng: random.Random, alike: bool) -> Iterator[tuple[int, ...]]:
    """Batches for ever; every pass holds each example once."""
    order = list(range(len(lengths)))
    while True:
        rng.shuffle(order)
        batches: list[tuple[int, ...]] = []
        for start in range(0, len(order), batch_size * WINDOW):
            window = order[start : start + batch_size * WINDOW]
            if alike:
                window = sorted(window, key=lambda index: -lengths[index])
            batches += [tuple(window[at : at + batch_size]) for at in range(0, len(window), batch_size)]
        rng.shuffle(batches)
        yield from batches
