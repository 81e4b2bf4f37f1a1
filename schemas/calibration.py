"""Calibration: how far a student's confidence may be believed, and from where on its answers are acted upon."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate, Sha256


class Calibration(Contract):
    """Maps a student's raw confidence to the probability that its answer is right: sigmoid(logit(c) / temperature + bias).

    Fitted on ``valid`` only. Apply it with :func:`kickwheel.evaluation.calibration.calibrated`.
    """

    schema_version: Literal["1"] = "1"
    student: str = Field(min_length=1, description="Name of the student whose confidence it maps")
    right_means: Literal["frame", "intent"] = Field(
        default="frame", description="What the probability is of: intent and all slots right, or the intent alone"
    )
    temperature: float = Field(gt=0, description="Above 1: the student was too sure of itself")
    bias: float = Field(
        default=0.0, description="0: temperature scaling. Temperature alone cannot take a confidence across 1/2; this can"
    )
    threshold: Rate = Field(description="Calibrated confidence below which an answer is not acted upon")
    target_accuracy: Rate = Field(description="Accuracy asked of the answers at or above the threshold, on the fitted rows")
    target_met: bool = Field(description="Whether any threshold gives it; if not, the threshold is the most accurate one")
    fitted_on: str = Field(description="Split that it was fitted on: valid")
    fitted_sha256: Sha256 | None = Field(default=None, description="Hash of that file")
    rows: int = Field(ge=1, description="Rows that it was fitted on: those whose confidence is known")
    unknown: int = Field(default=0, ge=0, description="Rows without a confidence; they are left out")
    accuracy: Rate = Field(description="Share of right answers among the fitted rows")
    ece_before: Rate = Field(description="Expected calibration error on the fitted rows, 15 bins of equal width")
    ece_after: Rate = Field(description="The same of the calibrated confidence; in-sample, so a little too good")
    adaptive_ece_before: Rate = Field(description="Expected calibration error, 15 bins of equally many rows")
    adaptive_ece_after: Rate = Field(description="The same of the calibrated confidence; in-sample too")


class ReliabilityBin(Contract):
    """Rows whose confidence lies in [low, high]; empty bins are left out."""

    low: Rate = Field(description="Lower edge")
    high: Rate = Field(description="Upper edge")
    rows: int = Field(ge=1)
    confidence: Rate = Field(description="Mean confidence of the rows")
    accuracy: Rate = Field(description="Share of them that are right")


class CoveragePoint(Contract):
    """What happens if only answers at or above a confidence are acted upon."""

    threshold: Rate = Field(description="Calibrated confidence")
    coverage: Rate = Field(description="Share of all rows that are answered")
    accuracy: Rate = Field(description="Share of right ones among the answered; risk is 1 - accuracy")


class OutOfScopeQuality(Contract):
    """How well requests for none of the domain's tasks are told from the others.

    A row is turned away if the student says out_of_scope, gives no frame, or is less sure than the threshold.
    """

    rows: int = Field(ge=0, description="Out-of-scope rows among the gold rows")
    precision: Rate = Field(description="Share of out-of-scope rows among those turned away")
    recall: Rate = Field(description="Share of out-of-scope rows that are turned away")
    in_scope_refused: Rate = Field(description="Share of the other rows that are turned away: the price")
    auroc: Rate | None = Field(default=None, description="Of the in-scope score; None: one kind of rows only, or no confidence")
    threshold: Rate = Field(default=0.0, description="Calibrated confidence below which a row is turned away")


class CalibrationQuality(Contract):
    """Calibration as seen on rows that nothing was chosen on."""

    known: int = Field(ge=0, description="Rows whose confidence is known")
    ece: Rate = Field(description="Expected calibration error of the calibrated confidence, 15 bins of equal width")
    ece_raw: Rate = Field(description="The same of the confidence as the student gave it")
    adaptive_ece: Rate = Field(description="Of the calibrated confidence, 15 bins of equally many rows")
    reliability: tuple[ReliabilityBin, ...] = Field(description="Of the calibrated confidence, bins of equal width")
    reliability_raw: tuple[ReliabilityBin, ...] = Field(description="Of the confidence as the student gave it")
    coverage: tuple[CoveragePoint, ...] = Field(description="From the surest row to all rows")
    aurc: Rate = Field(description="Area under risk over coverage: mean risk; smaller is better")
    out_of_scope: OutOfScopeQuality
    at_threshold: CoveragePoint = Field(description="Coverage and accuracy at the threshold chosen on valid")
