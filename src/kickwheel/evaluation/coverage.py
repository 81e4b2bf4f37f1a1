"""Answering less, but more surely: accuracy against coverage, and the threshold that is chosen by it.

Selective classification as in Geifman and El-Yaniv 2017 (arXiv 1705.08500).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from schemas.calibration import CoveragePoint, OutOfScopeQuality
from schemas.frame import OUT_OF_SCOPE, Frame, Prediction

FEWEST = 10
"""Rows that a threshold must leave: the accuracy of fewer is chance."""

_POINTS = 50


class Threshold(NamedTuple):
    """A threshold, and whether it gives the accuracy that was asked for."""

    value: float
    met: bool


def coverage_points(confidences: Sequence[float], right: Sequence[bool], *, rows: int | None = None) -> list[CoveragePoint]:
    """One point a distinct confidence, from the surest answer to all of them.

    ``rows``: of the whole set, where some have no confidence; those are never answered.
    """
    sure, hit = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if sure.shape != hit.shape:
        raise ValueError(f"{len(sure)} confidences for {len(hit)} answers")
    whole = rows or len(sure)
    order = np.argsort(-sure, kind="stable")
    sure, hit = sure[order], hit[order].cumsum()
    last: list[int] = np.flatnonzero(np.append(sure[1:] != sure[:-1], True)).tolist() if len(sure) else []
    return [
        CoveragePoint(threshold=float(sure[at]), coverage=(at + 1) / whole, accuracy=float(hit[at]) / (at + 1)) for at in last
    ]


def area_under_risk(points: Sequence[CoveragePoint]) -> float:
    """Mean risk over the coverage that the points reach (AURC): each share of rows at the risk of the point that adds it."""
    area = before = 0.0
    for point in points:
        area += (point.coverage - before) * (1 - point.accuracy)
        before = point.coverage
    return area / before if before else 0.0


def choose_threshold(confidences: Sequence[float], right: Sequence[bool], target: float) -> Threshold:
    """The threshold that answers most rows with at least ``target`` accuracy; of ``valid``, never of ``eval``.

    Where none does, the one of the best accuracy; each answers at least ``FEWEST`` rows, or all that there are.
    """
    points = coverage_points(confidences, right)
    fewest = min(FEWEST, len(confidences)) / max(1, len(confidences))
    points = [point for point in points if point.coverage >= fewest - 1e-12]
    if not points:
        return Threshold(0.0, False)
    good = [point for point in points if point.accuracy >= target]
    if good:
        return Threshold(max(good, key=lambda point: point.coverage).threshold, True)
    return Threshold(max(points, key=lambda point: (point.accuracy, point.coverage)).threshold, False)


def thinned(points: Sequence[CoveragePoint], most: int = _POINTS) -> tuple[CoveragePoint, ...]:
    """At most ``most`` points of a curve, both ends among them."""
    if len(points) <= most:
        return tuple(points)
    return tuple(points[at] for at in sorted({round(k * (len(points) - 1) / (most - 1)) for k in range(most)}))


def out_of_scope_quality(
    gold: Sequence[Frame], predictions: Sequence[Prediction], confidences: Sequence[float | None], threshold: float
) -> OutOfScopeQuality:
    """How well the student tells requests for none of the domain's tasks. ``confidences`` are calibrated, None: not known."""
    outside = [frame.intent == OUT_OF_SCOPE for frame in gold]
    refused = [
        prediction.frame is None or prediction.frame.intent == OUT_OF_SCOPE or (sure is not None and sure < threshold)
        for prediction, sure in zip(predictions, confidences, strict=True)
    ]
    caught = sum(out and away for out, away in zip(outside, refused, strict=True))
    inside = len(outside) - sum(outside)
    auroc = None
    if 0 < inside < len(outside) and all(sure is not None for sure in confidences):
        scores = [_in_scope_score(p, sure or 0.0) for p, sure in zip(predictions, confidences, strict=True)]
        auroc = float(roc_auc_score([not out for out in outside], scores))
    return OutOfScopeQuality(
        rows=sum(outside),
        precision=caught / sum(refused) if any(refused) else 0.0,
        recall=caught / sum(outside) if any(outside) else 0.0,
        in_scope_refused=(sum(refused) - caught) / inside if inside else 0.0,
        auroc=auroc,
        threshold=threshold,
    )


def _in_scope_score(prediction: Prediction, sure: float) -> float:
    """How sure a student is that a row asks for one of its tasks; no frame is none of them."""
    if prediction.frame is None:
        return 0.0
    return 1.0 - sure if prediction.frame.intent == OUT_OF_SCOPE else sure
