"""The gate's decisions and their reasons."""

from __future__ import annotations

import pytest

from kickwheel.distillation.gate import judge
from kickwheel.settings import DistillationSettings
from schemas.quality import Evaluation, IntentScore, PairedTest, QualityMetrics

SETTINGS = DistillationSettings()


def evaluation(
    joint: float,
    *,
    unparsable: float = 0.0,
    recalls: dict[str, tuple[int, float]] | None = None,
    rows: int = 100,
    split: str = "valid",
) -> Evaluation:
    overall = QualityMetrics(
        rows=rows,
        intent_accuracy=joint,
        macro_f1=joint,
        slot_precision=joint,
        slot_recall=joint,
        slot_f1=joint,
        joint_frame_accuracy=joint,
        unparsable_rate=unparsable,
        joint_interval=(0.0, 1.0),
    )
    intents = tuple(
        IntentScore(intent=intent, rows=count, precision=1.0, recall=recall, f1=1.0)
        for intent, (count, recall) in (recalls or {}).items()
    )
    return Evaluation.model_validate({"student": "s", "split": split, "overall": overall, "per_intent": intents})


def test_the_first_adapter_is_promoted() -> None:
    verdict = judge(None, evaluation(0.3), None, SETTINGS)
    assert verdict.decision == "promote"
    assert verdict.reasons[0].startswith("first adapter")


def test_a_better_challenger_is_promoted_with_its_numbers() -> None:
    verdict = judge(evaluation(0.7), evaluation(0.75), PairedTest(wins=9, losses=4, p_value=0.27), SETTINGS)
    assert verdict.decision == "promote"
    assert "challenger 75.0 %, champion 70.0 %" in verdict.reasons[0]
    assert "9 rows won, 4 lost, exact McNemar p = 0.27 (may be chance)" in verdict.reasons[0]


def test_an_equal_challenger_is_held() -> None:
    verdict = judge(evaluation(0.7), evaluation(0.7), None, SETTINGS)
    assert verdict.decision == "hold"
    assert "not more than the 0.0 points" in verdict.reasons[1]


@pytest.mark.parametrize(("joint", "decision"), [(0.72, "hold"), (0.73, "promote")])
def test_the_gain_must_be_more_than_the_one_asked_for(joint: float, decision: str) -> None:
    assert judge(evaluation(0.70), evaluation(joint), None, DistillationSettings(min_gain=0.02)).decision == decision


def test_a_worse_challenger_is_rejected() -> None:
    assert judge(evaluation(0.7), evaluation(0.69), None, SETTINGS).decision == "reject"


def test_more_unparsable_replies_hold_a_better_challenger() -> None:
    verdict = judge(evaluation(0.7, unparsable=0.01), evaluation(0.75, unparsable=0.03), None, SETTINGS)
    assert verdict.decision == "hold"
    assert "unparsable: 3.0 %, before 1.0 %" in verdict.reasons[1]


@pytest.mark.parametrize(
    ("rows", "before", "after", "decision"),
    [
        (10, 0.9, 0.7, "reject"),  # two of ten
        (8, 1.0, 0.875, "promote"),  # one row is chance
        (4, 1.0, 0.25, "promote"),  # too few rows to say anything
        (100, 0.90, 0.86, "promote"),  # four points are within the drop allowed
        (100, 0.90, 0.84, "reject"),
    ],
)
def test_an_intent_that_falls_rejects_a_better_challenger(rows: int, before: float, after: float, decision: str) -> None:
    champion = evaluation(0.7, recalls={"sync_orders": (rows, before)})
    challenger = evaluation(0.8, recalls={"sync_orders": (rows, after)})
    verdict = judge(champion, challenger, None, SETTINGS)
    assert verdict.decision == decision
    assert any("recall of sync_orders fell" in reason for reason in verdict.reasons) is (decision == "reject")


def test_the_gate_takes_no_other_split_than_valid() -> None:
    with pytest.raises(ValueError, match="'valid' only"):
        judge(evaluation(0.7), evaluation(0.8, split="eval"), None, SETTINGS)


def test_evaluations_of_different_rows_are_not_compared() -> None:
    with pytest.raises(ValueError, match="100 rows, challenger on 90"):
        judge(evaluation(0.7), evaluation(0.8, rows=90), None, SETTINGS)
