"""A student's confidence as the probability that its answer is right.

Temperature scaling (Guo et al. 2017, arXiv 1706.04599) on the logit of the one confidence that a student gives. With a single
confidence instead of a whole distribution a temperature cannot cross 1/2, and a student that writes JSON is sure of its
brackets and wrong in half of its frames; so a bias is fitted too (Platt 1999) and kept where the rows call for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from kickwheel.evaluation.calibration_error import expected_calibration_error, reliability
from kickwheel.evaluation.coverage import (
    area_under_risk,
    choose_threshold,
    coverage_points,
    out_of_scope_quality,
    thinned,
)
from schemas.calibration import Calibration, CalibrationQuality, CoveragePoint
from schemas.frame import Frame, Prediction

_EDGE = 1e-6
"""Confidences of 0 and 1 are taken for this far from it: a logit must be a number."""

_WARMEST, _COLDEST = 20.0, 0.05


def calibrated(confidence: float, calibration: Calibration) -> float:
    """The probability that an answer of this confidence is right, in [0, 1]; rises with the confidence.

    Raises:
        ValueError: the confidence is outside [0, 1].
    """
    if not 0 <= confidence <= 1:
        raise ValueError(f"confidence {confidence!r}, expected a number in [0, 1]")
    clipped = min(1 - _EDGE, max(_EDGE, confidence))
    score = math.log(clipped / (1 - clipped)) / calibration.temperature + calibration.bias
    return 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))


def fit_calibration(
    gold: Sequence[Frame],
    predictions: Sequence[Prediction],
    *,
    student: str,
    target_accuracy: float,
    fitted_on: str = "valid",
    fitted_sha256: str | None = None,
) -> Calibration | None:
    """Fit temperature, bias and threshold on rows that are used for choosing; None where no confidence is known.

    The bias is kept where it lowers the negative log-likelihood by more than half the logarithm of the rows (the Bayesian
    information criterion's price of one more parameter). Targets are smoothed as in Platt 1999, so that a student that is
    always right does not drive the fit to infinity.
    """
    sure, right = known_confidences(gold, predictions)
    if not sure:
        return None
    temperature, bias = _fit(np.asarray(sure), np.asarray(right))
    draft = Calibration(
        student=student,
        temperature=temperature,
        bias=bias,
        threshold=0.0,
        target_accuracy=target_accuracy,
        target_met=False,
        fitted_on=fitted_on,
        fitted_sha256=fitted_sha256,
        rows=len(sure),
        unknown=len(gold) - len(sure),
        accuracy=sum(right) / len(right),
        ece_before=expected_calibration_error(sure, right),
        ece_after=0.0,
        adaptive_ece_before=expected_calibration_error(sure, right, adaptive=True),
        adaptive_ece_after=0.0,
    )
    after = [calibrated(confidence, draft) for confidence in sure]
    chosen = choose_threshold(after, right, target_accuracy)
    return draft.model_copy(
        update={
            "threshold": chosen.value,
            "target_met": chosen.met,
            "ece_after": expected_calibration_error(after, right),
            "adaptive_ece_after": expected_calibration_error(after, right, adaptive=True),
        }
    )


def calibration_quality(
    gold: Sequence[Frame], predictions: Sequence[Prediction], calibration: Calibration
) -> CalibrationQuality | None:
    """How a calibration holds on other rows than those it was fitted on; None where no confidence is known."""
    raw, right = known_confidences(gold, predictions)
    if not raw:
        return None
    sure = [calibrated(confidence, calibration) for confidence in raw]
    points = coverage_points(sure, right, rows=len(gold))
    answered = [hit for one, hit in zip(sure, right, strict=True) if one >= calibration.threshold]
    every = [None if p.confidence is None else calibrated(p.confidence, calibration) for p in predictions]
    return CalibrationQuality(
        known=len(raw),
        ece=expected_calibration_error(sure, right),
        ece_raw=expected_calibration_error(raw, right),
        adaptive_ece=expected_calibration_error(sure, right, adaptive=True),
        reliability=reliability(sure, right),
        reliability_raw=reliability(raw, right),
        coverage=thinned(points),
        aurc=area_under_risk(points),
        out_of_scope=out_of_scope_quality(gold, predictions, every, calibration.threshold),
        at_threshold=CoveragePoint(
            threshold=calibration.threshold,
            coverage=len(answered) / len(gold),
            accuracy=sum(answered) / len(answered) if answered else 0.0,
        ),
    )


def known_confidences(gold: Sequence[Frame], predictions: Sequence[Prediction]) -> tuple[list[float], list[bool]]:
    """Confidence of each row where it is known ("not known" is not "low"), and whether the whole frame is right."""
    known = [
        (prediction.confidence, prediction.frame == frame)
        for frame, prediction in zip(gold, predictions, strict=True)
        if prediction.confidence is not None
    ]
    return [confidence for confidence, _ in known], [right for _, right in known]


def _fit(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float]:
    """Temperature and bias of least negative log-likelihood."""
    scores = logit(np.clip(sure, _EDGE, 1 - _EDGE))
    hits = int(right.sum())
    targets = np.where(right, (hits + 1) / (hits + 2), 1 / (len(right) - hits + 2))

    def loss(parameters: NDArray[np.float64]) -> float:
        bias = parameters[1] if len(parameters) > 1 else 0.0
        chance = np.clip(expit(scores * math.exp(-parameters[0]) + bias), 1e-12, 1 - 1e-12)
        return float(-(targets * np.log(chance) + (1 - targets) * np.log(1 - chance)).sum())

    warmth = (math.log(_COLDEST), math.log(_WARMEST))
    plain = minimize(loss, [0.0], bounds=[warmth], method="L-BFGS-B")
    shifted = minimize(loss, [float(plain.x[0]), 0.0], bounds=[warmth, (-20.0, 20.0)], method="L-BFGS-B")
    if plain.fun - shifted.fun > math.log(len(right)) / 2:
        return math.exp(float(shifted.x[0])), float(shifted.x[1])
    return math.exp(float(plain.x[0])), 0.0
