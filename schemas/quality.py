"""How good a student is: the same figures for every student, split and lap."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate
from schemas.calibration import CalibrationQuality


class QualityMetrics(Contract):
    """Figures over one set of rows. Unparsable replies count as wrong everywhere."""

    rows: int = Field(ge=0)
    intent_accuracy: Rate
    macro_f1: Rate = Field(description="Unweighted mean of per-intent F1 over the intents present in the gold rows")
    slot_precision: Rate
    slot_recall: Rate
    slot_f1: Rate = Field(description="Micro F1 over exact (name, start, end) spans in code points")
    joint_frame_accuracy: Rate = Field(description="Intent and all slot spans right")
    unparsable_rate: Rate
    joint_interval: tuple[float, float] = Field(description="95 % Wilson interval of joint_frame_accuracy")


class IntentScore(Contract):
    """One intent's line of the per-intent table."""

    intent: str
    rows: int
    precision: Rate
    recall: Rate
    f1: Rate
    precision_interval: tuple[float, float] | None = Field(default=None, description="95 % Wilson interval; None: not computed")
    recall_interval: tuple[float, float] | None = Field(default=None, description="95 % Wilson interval; None: not computed")


class FreeTextQuality(Contract):
    """Likeness of free-text slot values (domain setting evaluation.free_text_slots), which an exact span judges too harshly."""

    slots: tuple[str, ...] = Field(description="Slots that count as free text")
    rows: int = Field(ge=0, description="Values that the gold rows have; one that the student lacks counts as empty")
    bleu: float = Field(ge=0, le=100, description="Corpus BLEU-4 (Papineni et al. 2002), sacrebleu, Chinese by character")
    rouge_l: Rate = Field(description="Mean ROUGE-L F1 (Lin 2004) over the same tokens")


class ConfusionPair(Contract):
    """Rows of one intent that were read as another."""

    gold: str = Field(description="The right intent")
    predicted: str = Field(description="What was said, or 'unparsable'")
    rows: int = Field(ge=1)


class CrossValidation(Contract):
    """A cheap student fitted on all folds but one and scored on that one: what a small set teaches."""

    student: str = Field(description="Which student")
    folds: int = Field(ge=2, description="Stratified by intent")
    rows: int = Field(ge=2)
    intent_accuracy: Rate
    intent_deviation: float = Field(ge=0, description="Standard deviation over folds")
    slot_f1: Rate = Field(description="Mean over folds")
    joint_frame_accuracy: Rate = Field(description="Mean over folds")
    joint_deviation: float = Field(ge=0, description="Standard deviation over folds")


class Evaluation(Contract):
    """One student on one split."""

    student: str = Field(description="tuned, base_zero_shot, probe, champion, challenger, …")
    split: Literal["valid", "eval", "replay"]
    overall: QualityMetrics
    by_language: dict[str, QualityMetrics] = Field(default_factory=dict)
    per_intent: tuple[IntentScore, ...] = ()
    confusion: dict[str, dict[str, int]] = Field(
        default_factory=dict, description="gold intent -> predicted intent (or 'unparsable') -> rows"
    )
    evaluated_with: str = Field(default="", description="vLLM, in-process, scikit-learn …")
    sample_of: int | None = Field(default=None, description="Rows of the split, of which a sample was asked; None: all were")
    errors: dict[str, int] = Field(default_factory=dict, description="Replies that are no frame, by kind")
    calibration: CalibrationQuality | None = Field(default=None, description="None: no confidence was asked for or given")
    free_text: FreeTextQuality | None = Field(default=None, description="None: the domain names no free-text slots")

    def confusion_pairs(self, most: int = 5) -> tuple[ConfusionPair, ...]:
        """The most frequent confusions, unreadable replies among them."""
        pairs = [
            ConfusionPair(gold=gold, predicted=predicted, rows=rows)
            for gold, row in self.confusion.items()
            for predicted, rows in row.items()
            if predicted != gold and rows
        ]
        return tuple(sorted(pairs, key=lambda pair: (-pair.rows, pair.gold, pair.predicted))[:most])


class PairedTest(Contract):
    """Exact McNemar test on joint frames, the same rows answered by two students."""

    wins: int = Field(ge=0, description="Rows that only the first got right")
    losses: int = Field(ge=0, description="Rows that only the second got right")
    p_value: Rate
