"""When to send what. Open loop: the times do not depend on the replies.

Every schedule is a tuple of rising send times in seconds from the step's begin, at least one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from kickwheel.errors import InputError
from kickwheel.workspace import iterate_jsonl

Schedule = tuple[float, ...]
Item = TypeVar("Item")


def constant_schedule(rate: float, duration_s: float) -> Schedule:
    """Evenly spaced."""
    _check(rate, duration_s)
    return tuple(number / rate for number in range(max(1, round(rate * duration_s))))


def poisson_schedule(rate: float, duration_s: float, seed: int) -> Schedule:
    """Independent arrivals: a Poisson process, given how many arrive, is that many uniform draws in order.

    The number is that of the constant schedule and not drawn: the offered rate is exact, the gaps are random.
    """
    _check(rate, duration_s)
    rng = random.Random(seed)  # noqa: S311
    return tuple(sorted(rng.uniform(0.0, duration_s) for _ in range(max(1, round(rate * duration_s)))))


def steps_schedule(rates: Sequence[float], step_s: float) -> Schedule:
    """One constant rate after the other without a pause, e.g. 50, 100, 200, 500 (white paper F11)."""
    if not rates:
        raise ValueError("steps need at least one rate")
    return tuple(number * step_s + at for number, rate in enumerate(rates) for at in constant_schedule(rate, step_s))


def ramp_schedule(first: float, last: float, duration_s: float) -> Schedule:
    """A rate that grows (or falls) evenly: request k is due when its integral, ``first t + slope t^2 / 2``, is k."""
    _check(min(first, last), duration_s)
    slope = (last - first) / duration_s
    count = max(1, round((first + last) / 2 * duration_s))
    # The root of the quadratic that stays exact where the slope is 0.
    return tuple(2 * k / (first + math.sqrt(max(0.0, first * first + 2 * slope * k))) for k in range(count))


def burst_schedule(count: int) -> Schedule:
    """All at once: a cold start in front of its users (white paper C9: 200)."""
    if count < 1:
        raise ValueError(f"a burst has at least one request, got {count}")
    return (0.0,) * count


class TraceRow(BaseModel):
    """A line of a trace: seconds since its begin, and what was said then; without a text the domain's are taken in turn."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    at_s: float = Field(ge=0)
    text: str | None = Field(default=None, min_length=1, max_length=2000)


def read_trace(path: Path, *, speed: float = 1.0) -> tuple[Schedule, list[str | None]]:
    """Send times and texts of a JSONL trace ``{"at_s": 12.5, "text": "…"}``, in order of time, from 0.

    Args:
        speed: 2 replays it in half the time.

    Raises:
        InputError: no such file, no row, or a line that does not hold.
    """
    if speed <= 0:
        raise ValueError(f"speed must be above 0, got {speed}")
    if not path.is_file():
        raise InputError("there is no such trace", file=path)
    rows = sorted((row for _, row in iterate_jsonl(path, TraceRow)), key=lambda row: row.at_s)
    if not rows:
        raise InputError('the trace has no row: expected lines such as {"at_s": 0.5, "text": "…"}', file=path)
    begin = rows[0].at_s
    return tuple((row.at_s - begin) / speed for row in rows), [row.text for row in rows]


def choose_texts(texts: Sequence[Item], count: int, seed: int) -> list[Item]:
    """``count`` texts in an order that follows from the seed: every text once before any comes again."""
    if not texts:
        raise ValueError("there are no utterances to send")
    rng = random.Random(seed)  # noqa: S311
    chosen: list[Item] = []
    while len(chosen) < count:
        chosen += rng.sample(list(texts), len(texts))
    return chosen[:count]


def _check(rate: float, duration_s: float) -> None:
    if rate <= 0 or duration_s <= 0:
        raise ValueError(f"rate and duration must be above 0, got {rate} requests/s for {duration_s} s")
