"""Figures by hand-computed numbers, and what counts as wrong."""

from __future__ import annotations

import pytest

from kickwheel.evaluation import evaluate, mcnemar, wilson
from schemas.frame import Frame, Prediction
from schemas.utterance import Utterance, language_of


def row(text: str, intent: str, **slots: str) -> Utterance:
    return Utterance(id=text, text=text, language=language_of(text), frame=Frame.from_values(text, intent, slots))


def said(text: str, intent: str, **slots: str) -> Prediction:
    return Prediction(frame=Frame.from_values(text, intent, slots))


GOLD = [
    row("sync orders of EMEA", "sync_orders", region="EMEA"),
    row("同步😀昨天的订单", "sync_orders", date="昨天"),
    row("fetch logs", "fetch_logs"),
    row("hello", "out_of_scope"),
]
PREDICTIONS = [
    said("sync orders of EMEA", "sync_orders", region="EMEA"),
    said("同步😀昨天的订单", "sync_orders", date="昨天的"),
    said("fetch logs", "sync_orders"),
    Prediction(error="malformed", raw="{"),
]


def test_figures_are_those_computed_by_hand() -> None:
    result = evaluate(GOLD, PREDICTIONS, student="tuned", split="eval")
    overall = result.overall
    assert overall.intent_accuracy == 0.5
    assert overall.joint_frame_accuracy == 0.25
    assert overall.unparsable_rate == 0.25
    # sync_orders: precision 2/3, recall 1, F1 0.8; fetch_logs and out_of_scope: 0
    assert overall.macro_f1 == pytest.approx(0.8 / 3)
    # spans: EMEA right, 昨天 against 昨天的 wrong: one of two wanted, one of two given
    assert (overall.slot_precision, overall.slot_recall, overall.slot_f1) == (0.5, 0.5, 0.5)
    assert result.confusion["out_of_scope"] == {"unparsable": 1}
    assert result.by_language["zh"].rows == 1
    assert result.by_language["zh"].joint_frame_accuracy == 0.0


def test_an_evaluation_without_rows_or_slots_holds() -> None:
    assert evaluate([], [], student="s", split="eval").overall.joint_frame_accuracy == 0.0
    assert evaluate(GOLD[2:3], [said("fetch logs", "fetch_logs")], student="s", split="eval").overall.slot_f1 == 1.0


def test_predictions_and_rows_must_pair_up() -> None:
    with pytest.raises(ValueError, match="zip"):
        evaluate(GOLD, PREDICTIONS[:2], student="s", split="eval")
    unlabelled = Utterance(id="u", text="u", language="en")
    with pytest.raises(ValueError, match="no label"):
        evaluate([unlabelled], PREDICTIONS[:1], student="s", split="eval")


def test_mcnemar_counts_only_rows_where_the_two_differ() -> None:
    right = [Prediction(frame=item.frame) for item in GOLD]
    test = mcnemar(GOLD, right, PREDICTIONS)
    assert (test.wins, test.losses) == (3, 0)
    assert test.p_value == pytest.approx(0.25)  # 2 * (1/2)^3
    assert mcnemar(GOLD, right, right).p_value == 1.0


def test_wilson_interval_of_a_known_case() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)
