"""Confidence that means something: errors of calibration, scaling, thresholds, out-of-scope requests."""

from __future__ import annotations

import numpy as np
import pytest

from kickwheel.evaluation.calibration import calibrated, calibration_quality, fit_calibration
from kickwheel.evaluation.calibration_error import expected_calibration_error, reliability
from kickwheel.evaluation.coverage import (
    area_under_risk,
    choose_threshold,
    coverage_points,
    out_of_scope_quality,
    thinned,
)
from schemas.calibration import Calibration
from schemas.frame import OUT_OF_SCOPE, Frame, Prediction

RIGHT, OTHER, OUTSIDE = Frame(intent="sync"), Frame(intent="fetch"), Frame(intent=OUT_OF_SCOPE)


def drawn(rows: int, chance: object, said: object, seed: int = 0) -> tuple[list[Frame], list[Prediction]]:
    """Rows whose answers are right with ``chance(x)`` and that the student says ``said(x)`` of, x uniform."""
    rng = np.random.default_rng(seed)
    xs = rng.uniform(0.02, 0.98, rows)
    hits = rng.uniform(size=rows) < np.array([chance(x) for x in xs])  # type: ignore[operator]
    answers = [
        Prediction(frame=RIGHT if hit else OTHER, confidence=float(said(x)))  # type: ignore[operator]
        for x, hit in zip(xs, hits, strict=True)
    ]
    return [RIGHT] * rows, answers


def fitted(gold: list[Frame], answers: list[Prediction], target: float = 0.9) -> Calibration:
    calibration = fit_calibration(gold, answers, student="tuned", target_accuracy=target)
    assert calibration is not None
    return calibration


def test_error_of_equal_widths_by_hand() -> None:
    # Bin (0.933, 1]: two rows at 0.95 and 1, one right. Bin (0.2, 0.267]: one row at 0.25, wrong.
    found = expected_calibration_error([0.95, 1.0, 0.25], [True, False, False])
    assert found == pytest.approx((2 * abs(0.975 - 0.5) + 1 * 0.25) / 3)


def test_adaptive_bins_hold_equally_many_rows_also_where_a_student_is_always_sure() -> None:
    sure = [0.90 + 0.001 * k for k in range(60)]
    assert len(reliability(sure, [True] * 60)) <= 2
    bins = reliability(sure, [True] * 60, adaptive=True)
    assert [item.rows for item in bins] == [4] * 15
    assert bins[0].low == sure[0]
    assert bins[-1].high == sure[-1]


def test_no_rows_are_no_error_and_bad_confidences_are_refused() -> None:
    assert expected_calibration_error([], []) == 0
    assert expected_calibration_error([], [], adaptive=True) == 0
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        reliability([1.2], [True])


def test_an_overconfident_student_is_cooled_down_and_its_order_is_kept() -> None:
    # The student's logits are three times too large.
    gold, answers = drawn(600, lambda x: x, lambda x: x**3 / (x**3 + (1 - x) ** 3))
    calibration = fitted(gold, answers)
    assert calibration.temperature == pytest.approx(3, rel=0.25)
    assert calibration.bias == 0
    assert calibration.ece_after < 0.06 < calibration.ece_before
    assert calibration.adaptive_ece_after < calibration.adaptive_ece_before
    fresh_gold, fresh = drawn(600, lambda x: x, lambda x: x**3 / (x**3 + (1 - x) ** 3), seed=1)
    quality = calibration_quality(fresh_gold, fresh, calibration)
    assert quality is not None
    assert quality.ece < 0.07 < quality.ece_raw
    values = [calibrated(c, calibration) for c in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert values == sorted(values)
    assert 0 <= values[0] < values[-1] <= 1


def test_a_student_sure_of_its_brackets_and_wrong_in_its_frames_needs_the_bias() -> None:
    gold, answers = drawn(400, lambda x: 0.2 + 0.3 * x, lambda x: 0.9 + 0.09 * x)
    calibration = fitted(gold, answers)
    assert calibration.bias < 0
    assert calibration.ece_before > 0.5
    assert calibration.ece_after < 0.1
    assert calibrated(0.95, calibration) == pytest.approx(0.35, abs=0.08)


@pytest.mark.parametrize("frame", [RIGHT, OTHER])
def test_always_right_or_always_wrong_stays_finite(frame: Frame) -> None:
    answers = [Prediction(frame=frame, confidence=confidence) for confidence in (0.0, 0.5, 0.9, 1.0)]
    calibration = fitted([RIGHT] * 4, answers)
    assert 0 <= calibrated(1.0, calibration) <= 1
    assert calibration.accuracy == (1 if frame == RIGHT else 0)


def test_unknown_confidence_is_not_low_confidence() -> None:
    answers = [Prediction(frame=RIGHT, confidence=0.9), Prediction(frame=RIGHT)]
    calibration = fitted([RIGHT, RIGHT], answers)
    assert (calibration.rows, calibration.unknown) == (1, 1)
    assert fit_calibration([RIGHT], [Prediction(frame=RIGHT)], student="x", target_accuracy=0.9) is None
    assert calibration_quality([RIGHT], [Prediction(frame=RIGHT)], calibration) is None


def test_confidence_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        calibrated(1.5, fitted([RIGHT], [Prediction(frame=RIGHT, confidence=0.5)]))


def test_coverage_goes_from_the_surest_to_all_and_ties_are_one_point() -> None:
    points = coverage_points([0.9, 0.5, 0.9, 0.1], [True, False, False, True])
    assert [(p.threshold, p.coverage, p.accuracy) for p in points] == [(0.9, 0.5, 0.5), (0.5, 0.75, 1 / 3), (0.1, 1.0, 0.5)]
    assert area_under_risk(points) == pytest.approx((0.5 * 0.5 + 0.25 * (2 / 3) + 0.25 * 0.5) / 1)
    assert coverage_points([], []) == []
    assert coverage_points([0.9], [True], rows=4)[0].coverage == 0.25


def test_threshold_answers_most_rows_at_the_accuracy_asked_for() -> None:
    sure = [1 - k / 100 for k in range(100)]
    right = [k < 50 for k in range(100)]
    value, met = choose_threshold(sure, right, 0.9)
    answered = [hit for one, hit in zip(sure, right, strict=True) if one >= value]
    assert met
    assert len(answered) == 55  # 50 of 55 are 90.9 %, 50 of 56 are less
    value, met = choose_threshold(sure, [k % 2 == 0 for k in range(100)], 0.9)
    assert not met
    assert sum(one >= value for one in sure) >= 10


def test_thinned_curves_keep_their_ends() -> None:
    points = coverage_points([1 - k / 1000 for k in range(1000)], [True] * 1000)
    few = thinned(points, 50)
    assert len(few) == 50
    assert (few[0], few[-1]) == (points[0], points[-1])


def test_out_of_scope_rows_are_caught_by_the_label_by_no_frame_and_by_doubt() -> None:
    gold = [OUTSIDE, OUTSIDE, OUTSIDE, RIGHT, RIGHT]
    answers = [
        Prediction(frame=OUTSIDE, confidence=0.9),
        Prediction(error="malformed", confidence=0.9),
        Prediction(frame=RIGHT, confidence=0.3),
        Prediction(frame=RIGHT, confidence=0.8),
        Prediction(frame=RIGHT, confidence=0.4),
    ]
    sure = [answer.confidence for answer in answers]
    without = out_of_scope_quality(gold, answers, sure, 0.0)
    assert (without.recall, without.precision, without.in_scope_refused) == (pytest.approx(2 / 3), 1.0, 0.0)
    doubting = out_of_scope_quality(gold, answers, sure, 0.5)
    assert (doubting.recall, doubting.precision, doubting.in_scope_refused) == (1.0, 0.75, 0.5)
    assert doubting.auroc == 1.0
    assert out_of_scope_quality(gold[:3], answers[:3], sure[:3], 0.5).auroc is None
