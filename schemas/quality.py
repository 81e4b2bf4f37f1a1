"""How good a student is: the same figures for every student, split and lap."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate


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


class PairedTest(Contract):
    """Exact McNemar test on joint frames, the same rows answered by two students."""

    wins: int = Field(ge=0, description="Rows that only the first got right")
    losses: int = Field(ge=0, description="Rows that only the second got right")
    p_value: Rate
