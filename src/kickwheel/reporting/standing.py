"""Who stands where: every student's line on eval, and how the tuned one stands against the probe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kickwheel.reporting.wording import STUDENTS
from schemas.lap import LapReport
from schemas.quality import Evaluation, QualityMetrics
from schemas.tuning import TuningReport

Tone = Literal["good", "warn", "note"]


@dataclass(frozen=True)
class QualityLine:
    """One line of the quality table: a student on all eval rows, or on the Chinese ones."""

    student: str
    language: str | None
    """None: all rows."""
    metrics: QualityMetrics
    evaluated_with: str
    sample_of: int | None = None
    """Rows of the split, where only a sample of it was asked."""

    @property
    def title(self) -> str:
        """The student's name in reports."""
        return STUDENTS.get(self.student, self.student)

    @property
    def rows(self) -> str:
        """Rows asked, and of how many where they are a sample."""
        return f"{self.metrics.rows} of {self.sample_of}" if self.sample_of else str(self.metrics.rows)


def quality_lines(evaluations: Iterable[Evaluation | None]) -> tuple[QualityLine, ...]:
    """All rows of every student, each followed by its Chinese rows, however low; a sample has too few of those to say."""
    return tuple(line for evaluation in evaluations if evaluation for line in _lines_of(evaluation))


def eval_lines(report: LapReport) -> tuple[QualityLine, ...]:
    """Everything that was evaluated on eval: the tuning stage's students, then the distilled challenger."""
    return quality_lines((*(report.tuning.evaluations if report.tuning else ()), report.challenger_eval))


def _lines_of(evaluation: Evaluation) -> Iterator[QualityLine]:
    whole = evaluation.sample_of is None
    yield QualityLine(evaluation.student, None, evaluation.overall, evaluation.evaluated_with, evaluation.sample_of)
    if whole and "zh" in evaluation.by_language:
        yield QualityLine(evaluation.student, "zh", evaluation.by_language["zh"], evaluation.evaluated_with)


def verdict_tone(tuning: TuningReport) -> Tone:
    """``warn`` if the tuned student loses to the probe, ``good`` if it wins by more than chance (p < 0.05), else ``note``."""
    tuned = tuning.evaluation("tuned").overall.joint_frame_accuracy
    probe = tuning.evaluation("probe").overall.joint_frame_accuracy
    if tuned < probe:
        return "warn"
    return "good" if tuned > probe and tuning.against_probe.p_value < 0.05 else "note"


def gate_tone(report: LapReport) -> Tone:
    """``good`` for a promotion, ``warn`` for a rejection, ``note`` for everything between."""
    gate = report.distillation.gate if report.distillation else None
    if gate is None or gate.decision == "hold":
        return "note"
    return "good" if gate.decision == "promote" else "warn"
