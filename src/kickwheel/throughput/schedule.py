"""When to send what. Open loop: the times do not depend on the replies."""

from __future__ import annotations

import random
from collections.abc import Sequence


def constant_schedule(rate: float, duration_s: float) -> tuple[float, ...]:
    """Send times in seconds from the step's begin: evenly spaced, at least one."""
    if rate <= 0 or duration_s <= 0:
        raise ValueError(f"rate and duration must be above 0, got {rate} requests/s for {duration_s} s")
    return tuple(number / rate for number in range(max(1, round(rate * duration_s))))


def choose_texts(texts: Sequence[str], count: int, seed: int) -> list[str]:
    """``count`` texts in an order that follows from the seed: every text once before any comes again."""
    if not texts:
        raise ValueError("there are no utterances to send")
    rng = random.Random(seed)  # noqa: S311
    chosen: list[str] = []
    while len(chosen) < count:
        chosen += rng.sample(texts, len(texts))
    return chosen[:count]
