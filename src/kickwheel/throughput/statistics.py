"""Percentiles from raw samples; never from averages, histograms or other percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from schemas.throughput import Percentiles


def percentile(samples: Sequence[float], share: float) -> float | None:
    """Nearest-rank percentile: a value that was really seen, the largest one for ``share`` 1; None without samples."""
    if not samples:
        return None
    return sorted(samples)[max(0, math.ceil(share * len(samples)) - 1)]


def percentiles_ms(seconds: Sequence[float]) -> Percentiles:
    """Seconds to the percentiles of a report, in milliseconds."""
    p50, p90, p95, p99 = (percentile(seconds, share) for share in (0.50, 0.90, 0.95, 0.99))
    return Percentiles(p50=_ms(p50), p90=_ms(p90), p95=_ms(p95), p99=_ms(p99))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
