"""Percentiles from raw samples; never from averages, histograms or other percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from schemas.throughput import Percentiles

SHARES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
CONFIDENCE = 0.95
QUANTILES = 51
"""Points of a CDF that a report keeps: 0, 2, … 100 %."""


def percentile(samples: Sequence[float], share: float) -> float | None:
    """Nearest-rank percentile: a value that was really seen, the largest one for ``share`` 1; None without samples."""
    if not samples:
        return None
    return _at(sorted(samples), share)


def percentile_interval(samples: Sequence[float], share: float) -> tuple[float | None, float | None]:
    """Distribution-free 95 % interval of a percentile from order statistics.

    The number of samples below the true percentile is binomial(n, share), so ranks that hold 95 % of that distribution bound
    it (Hahn and Meeker, Statistical Intervals, 1991, section 5.2). None on a side where no rank does: the P99 has an upper
    bound from 368 samples on. It takes samples for independent; those of one queue are not, so that it is rather too narrow.
    """
    if not samples:
        return None, None
    ordered = sorted(samples)
    low, high = _ranks(len(ordered), share)
    return (ordered[low - 1] if low >= 1 else None, ordered[high - 1] if high <= len(ordered) else None)


def percentiles_ms(seconds: Sequence[float]) -> Percentiles:
    """Seconds to the percentiles of a report, in milliseconds, with their intervals."""
    if not seconds:
        return Percentiles()
    ordered = sorted(seconds)
    found = {name: 1000 * _at(ordered, share) for name, share in SHARES.items()}
    bounds = {}
    for name, share in SHARES.items():
        low, high = percentile_interval(ordered, share)
        bounds[name] = (None if low is None else 1000 * low, None if high is None else 1000 * high)
    return Percentiles(p50=found["p50"], p90=found["p90"], p95=found["p95"], p99=found["p99"], intervals=bounds)


def quantiles_ms(seconds: Sequence[float]) -> tuple[float, ...]:
    """The CDF in 51 points: smallest value, then the nearest-rank percentiles 2, 4 … 100, in milliseconds."""
    if not seconds:
        return ()
    ordered = sorted(seconds)
    return tuple(round(1000 * _at(ordered, number / (QUANTILES - 1)), 3) for number in range(QUANTILES))


def _at(ordered: Sequence[float], share: float) -> float:
    # 0.99 * 100 is 99.00000000000001 in floats: the rank must still be 99.
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


@lru_cache(maxsize=256)
def _ranks(count: int, share: float) -> tuple[int, int]:
    """Ranks from 1 of the interval; 0 and count + 1 are open sides."""
    from scipy.stats import binom

    tail = (1 - CONFIDENCE) / 2
    low = int(binom.ppf(tail, count, share))
    high = int(binom.ppf(1 - tail, count, share)) + 1
    return low, high
