"""Expected calibration error, with bins of equal width and with bins of equally many rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.calibration import ReliabilityBin

BINS = 15
"""As in Guo et al. 2017, so that figures can be compared."""


def expected_calibration_error(confidences: Sequence[float], right: Sequence[bool], *, adaptive: bool = False) -> float:
    """Mean distance of confidence and accuracy over bins, weighted by their rows; 0 where there are no rows.

    Equal widths: Naeini et al. 2015 ("Obtaining well calibrated probabilities using Bayesian binning"), with the bins of Guo
    et al. 2017 (arXiv 1706.04599). ``adaptive``: bins of equally many rows, which a student that is always sure does not
    empty (Nguyen and O'Connor 2015; Nixon et al. 2019, arXiv 1904.01685).
    """
    bins = reliability(confidences, right, adaptive=adaptive)
    rows = sum(item.rows for item in bins)
    return sum(item.rows * abs(item.confidence - item.accuracy) for item in bins) / rows if rows else 0.0


def reliability(confidences: Sequence[float], right: Sequence[bool], *, adaptive: bool = False) -> tuple[ReliabilityBin, ...]:
    """The bins behind the error, from low to high confidence, without the empty ones.

    Raises:
        ValueError: not one confidence an answer, or one outside [0, 1].
    """
    sure, hit = _arrays(confidences, right)
    if adaptive:
        order = np.argsort(sure, kind="stable")
        groups = [part for part in np.array_split(order, min(BINS, len(order)) or 1) if len(part)]
        edges = [(float(sure[part[0]]), float(sure[part[-1]])) for part in groups]
    else:
        places = np.clip(np.ceil(sure * BINS).astype(int) - 1, 0, BINS - 1)
        filled = sorted(set(places.tolist()))
        groups = [np.flatnonzero(places == place) for place in filled]
        edges = [(place / BINS, (place + 1) / BINS) for place in filled]
    return tuple(
        ReliabilityBin(
            low=low,
            high=high,
            rows=len(part),
            confidence=min(1.0, float(sure[part].mean())),
            accuracy=float(hit[part].mean()),
        )
        for part, (low, high) in zip(groups, edges, strict=True)
    )


def _arrays(confidences: Sequence[float], right: Sequence[bool]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(confidences) != len(right):
        raise ValueError(f"{len(confidences)} confidences for {len(right)} answers")
    sure = np.asarray(confidences, dtype=np.float64)
    if len(sure) and not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError("confidences must lie in [0, 1]")
    return sure, np.asarray(right, dtype=np.float64)
