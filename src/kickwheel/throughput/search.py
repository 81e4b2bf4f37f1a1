"""The search for the largest rate that holds an SLO: bracket, then refine. It knows nothing of servers or clocks.

::

    start, 2 start, 4 start …   until a rate misses (or, where the start itself misses, start / 2, start / 4 … until one holds)
    then the geometric mean of the largest that holds and the smallest that misses, until they are within the tolerance

A rate is never called held that was not measured. A miss is measured a second time before it is believed: half a second in
which the machine stood still loses a step, and a miss that was none would halve the answer. A step whose generator was too slow
says nothing: it is measured once more, and if that says nothing either, the generator is the limit, and the search says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from kickwheel.throughput.points import judged
from schemas.throughput import LoadPoint, RateSearch, SearchEnd, Slo

MeasurePoint = Callable[[float], LoadPoint]

GROWTH = 2.0
"""Between the rates of the bracket."""

MOST_LOOKS = 2
"""At a rate that missed, or whose generator was too slow."""


def largest_rate(
    measure_point: MeasurePoint,
    slo: Slo,
    *,
    start: float = 1.0,
    tolerance: float = 0.05,
    highest: float = 4096.0,
    lowest: float = 0.05,
    max_points: int = 30,
    unloaded: LoadPoint | None = None,
    arm: str = "",
) -> RateSearch:
    """Search for the largest rate.

    Args:
        measure_point: one load step at a rate; its own ``holds_slo`` is not used. A point with ``server_died`` ends the search.
        start: first rate. The same start, tolerance and verdicts give the same rates, so that runs can be compared.
        tolerance: the smallest rate that missed is at most this share above the largest that held.
        highest, lowest: the search does not leave them.
        max_points: load steps at most; what held until then is the answer.
        unloaded: one request at a time; if that misses the SLO's latency already, no rate is tried.

    Returns:
        The largest rate with the reason for the end. 0: none held, or the latency without load misses already.
    """
    if not 0 < lowest <= start <= highest or tolerance <= 0 or max_points < 1:
        raise ValueError(
            f"expected 0 < lowest <= start <= highest, a tolerance above 0 and a point at least; got lowest {lowest}, "
            f"start {start}, highest {highest}, tolerance {tolerance}, max_points {max_points}"
        )
    search = _Search(measure_point, slo, tolerance, max_points, unloaded, arm)
    if unloaded is not None and unloaded.server_died:
        return search.end("server_died", "the server died when it was asked one request at a time")
    if unloaded is not None and (misses := judged(unloaded, _without_rate(slo)).missed):
        return search.end("unloaded_misses", f"one request at a time misses already: {'; '.join(misses)}")
    rate = start
    while True:
        ended = search.try_rate(rate)
        if ended is not None:
            return ended
        following = _next(search.held, search.missed_at, rate, lowest, highest)
        if following is None:
            at_top = search.missed_at is None
            end: SearchEnd = "highest_rate" if at_top else "lowest_rate"
            why = f"{rate:g} requests/s, the {'highest' if at_top else 'lowest'} rate tried, {'held' if at_top else 'missed'}"
            return search.end(end, why)
        if search.held and search.missed_at and search.missed_at <= search.held * (1 + tolerance) * (1 + 1e-9):
            return search.end("tolerance", f"{search.held:.4g} requests/s held, {search.missed_at:.4g} missed")
        rate = following


@dataclass
class _Search:
    measure: MeasurePoint
    slo: Slo
    tolerance: float
    max_points: int
    unloaded: LoadPoint | None
    arm: str
    held: float = 0.0
    missed_at: float | None = None
    points: int = 0
    last_miss: tuple[str, ...] = field(default=())

    def try_rate(self, rate: float) -> RateSearch | None:
        """Measure a rate and move the bracket; an end where the search can't go on."""
        voids, lost = 0, False
        while True:
            if self.points >= self.max_points:
                return self.end("points", f"{self.max_points} steps were measured, more were not allowed")
            point = self.measure(rate)
            self.points += 1
            misses = judged(point, self.slo).missed
            if point.server_died:
                self._miss(rate, misses or ("the server died",))
                return self.end("server_died", f"the server died at {rate:.4g} requests/s")
            if point.void and not point.stopped_early:
                voids += 1
                if voids < MOST_LOOKS:
                    continue
                if not misses:
                    return self.end(
                        "generator_too_slow",
                        f"at {rate:.4g} requests/s the generator itself was too slow, twice: P99 send delay "
                        f"{point.send_delay_p99_ms:.1f} ms",
                    )
                lost = True  # whatever the generator did: its delay is a part of what was measured
            if not misses:
                self.held = max(self.held, rate)
                return None
            if lost or self.points >= self.max_points:  # seen twice, or there is no second look
                self._miss(rate, misses)
                return None
            lost = True

    def _miss(self, rate: float, misses: tuple[str, ...]) -> None:
        if self.missed_at is None or rate < self.missed_at:
            self.missed_at, self.last_miss = rate, misses

    def end(self, ended_by: SearchEnd, why: str) -> RateSearch:
        missed = f" ({'; '.join(self.last_miss)})" if self.last_miss else ""
        return RateSearch(
            arm=self.arm,
            slo=self.slo,
            largest_rate=self.held,
            first_miss=self.missed_at,
            tolerance=self.tolerance,
            unloaded_p99_ms=self.unloaded.latency_ms.p99 if self.unloaded else None,
            ended_by=ended_by,
            why=why + missed,
            points=self.points,
        )


def _next(held: float, missed_at: float | None, rate: float, lowest: float, highest: float) -> float | None:
    """The rate to try after ``rate``; None where the search would leave its bounds."""
    if missed_at is None:
        return None if rate >= highest else min(rate * GROWTH, highest)
    if held == 0.0:
        return None if rate <= lowest else max(rate / GROWTH, lowest)
    return math.sqrt(held * missed_at)


def _without_rate(slo: Slo) -> Slo:
    """One request at a time has no offered rate to fall short of, and is itself what accuracy is compared with."""
    left = slo.limits.keys() - {"achieved_ratio", "joint_accuracy_ratio"}
    kept = {name: getattr(slo, name) if name in left else None for name in Slo.model_fields}
    return Slo.model_validate(kept) if left else Slo(p99_ms=None, error_rate=1.0)
