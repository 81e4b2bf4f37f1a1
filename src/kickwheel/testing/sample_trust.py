"""Made-up figures of trust for the sample report: calibration, parity, cross-validation."""

from __future__ import annotations

from typing import Final

from schemas.calibration import Calibration, CalibrationQuality, CoveragePoint, OutOfScopeQuality, ReliabilityBin
from schemas.parity import ParityArm, ParityDifference, ParityReport
from schemas.quality import CrossValidation, FreeTextQuality

_SHA: Final = "5a" * 32


def sample_calibration() -> Calibration:
    """Of a student that was too sure of itself."""
    return Calibration(
        student="tuned",
        temperature=1.8,
        bias=-1.4,
        threshold=0.71,
        target_accuracy=0.9,
        target_met=True,
        fitted_on="valid",
        fitted_sha256=_SHA,
        rows=96,
        unknown=4,
        accuracy=0.43,
        ece_before=0.48,
        ece_after=0.06,
        adaptive_ece_before=0.48,
        adaptive_ece_after=0.07,
    )


def sample_parity() -> ParityReport:
    """One prompt of eight differs on the server."""
    return ParityReport(
        prompts=8,
        readable=7,
        tolerance=0.25,
        arms=(
            ParityArm(name="merged", run_with="transformers in this process", agreement=1.0),
            ParityArm(
                name="served",
                run_with="vLLM 0.32.0",
                agreement=0.875,
                differences=(
                    ParityDifference(text="同步订单", expected='{"intent": "sync_orders", "slots": {}}', got="(truncated)"),
                ),
            ),
        ),
        seconds=17.2,
    )


def sample_cross_validation() -> tuple[CrossValidation, ...]:
    """Of the probe."""
    return (
        CrossValidation(
            student="probe",
            folds=5,
            rows=316,
            intent_accuracy=0.83,
            intent_deviation=0.03,
            slot_f1=0.52,
            joint_frame_accuracy=0.48,
            joint_deviation=0.05,
        ),
    )


def sample_trust() -> dict[str, object]:
    """What else an evaluation of the tuned student holds."""
    bins = tuple(
        ReliabilityBin(low=low / 15, high=(low + 1) / 15, rows=20, confidence=(low + 0.5) / 15, accuracy=min(1.0, low / 14))
        for low in range(15)
    )
    raw = (
        ReliabilityBin(low=13 / 15, high=14 / 15, rows=120, confidence=0.9, accuracy=0.3),
        ReliabilityBin(low=14 / 15, high=1.0, rows=180, confidence=0.98, accuracy=0.5),
    )
    curve = tuple(
        CoveragePoint(threshold=1 - share / 20, coverage=share / 20, accuracy=0.95 - 0.533 * (share / 20) ** 2)
        for share in range(1, 21)
    )
    quality = CalibrationQuality(
        known=300,
        ece=0.061,
        ece_raw=0.512,
        adaptive_ece=0.066,
        reliability=bins,
        reliability_raw=raw,
        coverage=curve,
        aurc=0.31,
        out_of_scope=OutOfScopeQuality(rows=40, precision=0.41, recall=0.8, in_scope_refused=0.18, auroc=0.79, threshold=0.71),
        at_threshold=CoveragePoint(threshold=0.71, coverage=0.29, accuracy=0.9),
    )
    return {
        "calibration": quality,
        "errors": {"malformed": 9, "truncated": 4},
        "free_text": FreeTextQuality(slots=("recipient",), rows=26, bleu=31.4, rouge_l=0.66),
    }
