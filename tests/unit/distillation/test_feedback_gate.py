"""The gate's decisions and their reasons."""

from __future__ import annotations

import pytest

from kickwheel.distillation.gate import judge
from kickwheel.evaluation.intent_change import IntentChange
from kickwheel.settings import DistillationSettings
from schemas.quality import Evaluation, IntentScore, PairedTest, QualityMetrics
from schemas.trial import TrialVerdict
from schemas.tuning import GateCheck

SETTINGS = DistillationSettings()
BETTER = PairedTest(wins=12, losses=2, p_value=0.013)


def trial(decision: str) -> TrialVerdict:
    arm = {"units": 200, "answers": 600, "judged_units": 200, "completion": 0.6, "error_rate": 0.0}
    return TrialVerdict.model_validate(
        {
            "experiment": "shop-0002",
            "decision": decision,
            "reasons": ("told so",),
            "champion": {"arm": "champion", **arm},
            "challenger": {"arm": "challenger", **arm},
            "alpha": 0.05,
            "challenger_share": 0.5,
        }
    )


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


def test_the_first_adapter_must_beat_the_base_where_that_was_asked() -> None:
    base = evaluation(0.3)
    better = judge(None, evaluation(0.5), None, SETTINGS, base=base, against_base=PairedTest(wins=25, losses=5, p_value=0.0003))
    assert better.decision == "promote"
    worse = judge(None, evaluation(0.1), None, SETTINGS, base=base, against_base=PairedTest(wins=5, losses=25, p_value=0.0003))
    assert worse.decision == "reject"
    same = judge(None, evaluation(0.3), None, SETTINGS, base=base, against_base=PairedTest(wins=5, losses=5, p_value=1))
    assert same.decision == "hold"


def test_a_gain_that_is_more_than_chance_is_promoted_with_its_numbers() -> None:
    verdict = judge(evaluation(0.7), evaluation(0.8), PairedTest(wins=12, losses=2, p_value=0.013), SETTINGS)
    assert verdict.decision == "promote"
    assert "challenger 80.0 %, champion 70.0 %" in verdict.reasons[0]
    assert "12 rows won, 2 lost, exact one-sided McNemar p = 0.0065" in verdict.reasons[0]
    assert verdict.one_sided_p == pytest.approx(106 / 2**14)  # 1 + 14 + 91 of 2^14 outcomes


def test_a_gain_that_may_be_chance_is_held_for_a_trial() -> None:
    # what the gate once promoted, 7 rows won and 3 lost of 100 (p = 0.34 two-sided), and eval was then 5.7 points worse
    verdict = judge(evaluation(0.32), evaluation(0.36), PairedTest(wins=7, losses=3, p_value=0.34), SETTINGS)
    assert verdict.decision == "hold"
    assert "A/B trial first (kickwheel ab)" in verdict.reasons[1]
    won = judge(
        evaluation(0.32), evaluation(0.36), PairedTest(wins=7, losses=3, p_value=0.34), SETTINGS, trial=trial("challenger")
    )
    assert won.decision == "promote"
    lost = judge(
        evaluation(0.32), evaluation(0.36), PairedTest(wins=7, losses=3, p_value=0.34), SETTINGS, trial=trial("champion")
    )
    assert lost.decision == "reject"


def test_a_trial_that_is_won_does_not_outweigh_evidence_on_valid() -> None:
    paired = PairedTest(wins=2, losses=14, p_value=0.004)
    assert judge(evaluation(0.7), evaluation(0.58), paired, SETTINGS, trial=trial("challenger")).decision == "reject"


def test_an_invalid_trial_is_no_evidence() -> None:
    paired = PairedTest(wins=7, losses=3, p_value=0.34)
    assert judge(evaluation(0.32), evaluation(0.36), paired, SETTINGS, trial=trial("invalid")).decision == "hold"


def test_an_equal_challenger_is_held() -> None:
    verdict = judge(evaluation(0.7), evaluation(0.7), None, SETTINGS)
    assert verdict.decision == "hold"
    assert "not more than the 0.0 points" in verdict.reasons[1]


@pytest.mark.parametrize(("joint", "decision"), [(0.80, "hold"), (0.81, "promote")])
def test_the_gain_must_be_more_than_the_one_asked_for(joint: float, decision: str) -> None:
    settings = DistillationSettings(min_gain=0.1)
    assert judge(evaluation(0.70), evaluation(joint), BETTER, settings).decision == decision


def test_a_challenger_that_is_worse_by_more_than_chance_is_rejected_and_else_held() -> None:
    clearly = PairedTest(wins=1, losses=12, p_value=0.003)
    assert judge(evaluation(0.7), evaluation(0.59), clearly, SETTINGS).decision == "reject"
    perhaps = PairedTest(wins=3, losses=4, p_value=1.0)
    assert judge(evaluation(0.7), evaluation(0.69), perhaps, SETTINGS).decision == "hold"


def test_more_unparsable_replies_hold_a_better_challenger() -> None:
    verdict = judge(evaluation(0.7, unparsable=0.01), evaluation(0.8, unparsable=0.03), BETTER, SETTINGS)
    assert verdict.decision == "hold"
    assert "unparsable: 3.0 %, before 1.0 %" in verdict.reasons[1]


def test_calibration_time_and_memory_beyond_their_limits_hold_a_better_challenger() -> None:
    within = GateCheck(name="latency", champion=10.0, challenger=14.9, limit=15.0, unit="seconds for valid")
    beyond = GateCheck(name="calibration", champion=0.05, challenger=0.15, limit=0.10, unit="expected calibration error")
    assert judge(evaluation(0.7), evaluation(0.8), BETTER, SETTINGS, checks=[within]).decision == "promote"
    verdict = judge(evaluation(0.7), evaluation(0.8), BETTER, SETTINGS, checks=[within, beyond])
    assert verdict.decision == "hold"
    assert verdict.reasons[1] == "calibration: expected calibration error: challenger 0.15, champion 0.05, limit 0.1"


def test_an_intent_that_is_worse_by_more_than_chance_rejects() -> None:
    change = IntentChange("sync_orders", 100, 0.9, 0.7, won=1, lost=21, p_value=0.0001)
    verdict = judge(evaluation(0.7), evaluation(0.8), BETTER, SETTINGS, changes=[change])
    assert verdict.decision == "reject"
    assert "sync_orders became worse by more than chance: 21 of 100 rows lost, 1 won" in verdict.reasons[1]


@pytest.mark.parametrize(
    ("rows", "before", "after", "decision"),
    [
        (10, 0.9, 0.7, "hold"),  # two of ten
        (8, 1.0, 0.875, "promote"),  # one row is chance
        (4, 1.0, 0.25, "promote"),  # too few rows to say anything
        (100, 0.90, 0.86, "promote"),  # four points are within the drop allowed
        (100, 0.90, 0.84, "hold"),
    ],
)
def test_an_intent_that_falls_holds_a_better_challenger(rows: int, before: float, after: float, decision: str) -> None:
    champion = evaluation(0.7, recalls={"sync_orders": (rows, before)})
    challenger = evaluation(0.8, recalls={"sync_orders": (rows, after)})
    verdict = judge(champion, challenger, BETTER, SETTINGS)
    assert verdict.decision == decision
    assert any("recall of sync_orders fell" in reason for reason in verdict.reasons) is (decision == "hold")


def test_the_gate_takes_no_other_split_than_valid() -> None:
    with pytest.raises(ValueError, match="'valid' only"):
        judge(evaluation(0.7), evaluation(0.8, split="eval"), None, SETTINGS)


def test_evaluations_of_different_rows_are_not_compared() -> None:
    with pytest.raises(ValueError, match="100 rows, challenger on 90"):
        judge(evaluation(0.7), evaluation(0.8, rows=90), None, SETTINGS)


@pytest.mark.parametrize(
    ("base", "against_base", "decision", "told"),
    [
        (0.5, PairedTest(wins=35, losses=5, p_value=1e-6), "promote", "challenger 80.0 %, untuned base 50.0 %"),
        (0.8, PairedTest(wins=5, losses=5, p_value=1.0), "hold", "does as well without an adapter"),
        (0.95, PairedTest(wins=1, losses=16, p_value=3e-4), "reject", "untuned base is better by more than chance"),
    ],
)
def test_a_challenger_that_beats_the_champion_has_to_beat_the_base_too(
    base: float, against_base: PairedTest, decision: str, told: str
) -> None:
    verdict = judge(evaluation(0.7), evaluation(0.8), BETTER, SETTINGS, base=evaluation(base), against_base=against_base)
    assert verdict.decision == decision
    assert any(told in reason for reason in verdict.reasons)
