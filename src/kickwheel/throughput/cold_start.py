"""What a start costs and what warming buys: starts in turn with each way of warming, and their table (white paper C2, C5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from kickwheel.throughput.statistics import percentiles_ms
from schemas.engine import ColdStartRow, StartMeasured, WarmUp

WAYS: tuple[WarmUp, ...] = ("none", "forward", "full")

KINDS = ("plain", "structured", "log-probabilities")
"""Kinds of requests that a server is asked first: the student's own, under a JSON Schema, with log-probabilities."""

WARM_ROUNDS = 5
"""How often each kind is asked again for the figure when warm."""


def measure_starts(
    ways: Sequence[WarmUp],
    rounds: int,
    measure: Callable[[WarmUp, int], StartMeasured],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[StartMeasured]:
    """Start once for each way of warming in each round; every other round backwards, so that a machine's drift cancels.

    Args:
        measure: (way, round) to the start's figures; it may take what an earlier try has measured from a log.
    """
    steps = [(way, number) for number in range(rounds) for way in (ways if number % 2 == 0 else tuple(reversed(ways)))]
    found = []
    for done, (way, number) in enumerate(steps):
        found.append(measure(way, number))
        if progress is not None:
            progress(done + 1, len(steps))
    return found


def rows(starts: Sequence[StartMeasured]) -> tuple[ColdStartRow, ...]:
    """The table: a row for each way of warming, its starts together."""
    found = []
    for way in WAYS:
        mine = [start for start in starts if start.warm_up == way]
        if not mine:
            continue
        first = [value for start in mine for value in start.first_ms]
        memory = [start.memory_gib for start in mine if start.memory_gib is not None]
        found.append(
            ColdStartRow(
                warm_up=way,
                starts=len(mine),
                ready_s=fmean(start.ready_s for start in mine),
                warm_up_s=fmean(start.warm_up_s for start in mine),
                first_ms=percentiles_ms([value / 1000 for value in first]),
                warm_ms=percentiles_ms([value / 1000 for start in mine for value in start.warm_ms]),
                first_requests=len(first),
                memory_gib=fmean(memory) if memory else None,
            )
        )
    return tuple(found)


def cache_reuse(starts: Sequence[StartMeasured]) -> float | None:
    """Seconds that filled compile caches save on the way to ready; None unless starts with both were measured."""
    ready = {state: [start.ready_s for start in starts if start.caches == state] for state in ("empty", "filled")}
    return fmean(ready["empty"]) - fmean(ready["filled"]) if ready["empty"] and ready["filled"] else None
