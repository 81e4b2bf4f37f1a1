"""Rules that turn behaviour into signals, each at its boundary."""

from __future__ import annotations

from typing import Any

import pytest

from kickwheel.distillation import signals
from kickwheel.settings import DistillationSettings
from schemas.feedback import Behaviour, FeedbackEvent
from schemas.frame import Frame

SETTINGS = DistillationSettings()
TEXT = "把昨天的订单同步到湖里🙏，要快"
ANSWER = Frame(intent="sync_payments")
WANTED = Frame.from_values(TEXT, "sync_orders", {"date": "昨天"})


def behaviour(**given: Any) -> Behaviour:
    return Behaviour(**{"dwell_s": 2.0, "scroll": 0.2, **given})


def event(answer: Frame | None = ANSWER, **given: Any) -> FeedbackEvent:
    fields = {
        "case": "c",
        "user": "u",
        "text": TEXT,
        "arm": "champion",
        "propensity": 0.8,
        "model": "m",
        "behaviour": behaviour(),
        "completed": False,
        **given,
    }
    return FeedbackEvent(answer=answer, **fields)


def fired(given: Behaviour) -> set[str]:
    return {signal.rule for signal in signals.implicit_signals(event(behaviour=given), SETTINGS)}


@pytest.mark.parametrize(("seconds", "fires"), [(7.9, False), (8.0, True), (40.0, True)])
def test_dwell_of_eight_seconds_is_strong_interest(seconds: float, fires: bool) -> None:
    assert fired(behaviour(dwell_s=seconds)) == ({"dwell"} if fires else set())


@pytest.mark.parametrize(("share", "bounced", "fires"), [(0.89, False, False), (0.9, False, True), (0.95, True, False)])
def test_scroll_of_ninety_percent_without_a_bounce_is_completed(share: float, bounced: bool, fires: bool) -> None:
    assert ("scroll_completed" in fired(behaviour(scroll=share, bounced=bounced))) is fires


@pytest.mark.parametrize(("returns", "fires"), [(2, False), (3, True), (4, True)])
def test_three_returns_are_confusion(returns: int, fires: bool) -> None:
    assert fired(behaviour(back_and_return=returns)) == ({"confusion"} if fires else set())


def test_leaving_counts_against_the_answer_and_staying_for_it() -> None:
    given = behaviour(dwell_s=9, scroll=1, back_and_return=3, abandoned=True)
    strengths = {s.rule: s.strength for s in signals.implicit_signals(event(behaviour=given), SETTINGS)}
    assert set(strengths) == {"dwell", "scroll_completed", "confusion", "abandoned"}
    assert strengths["dwell"] > 0
    assert strengths["scroll_completed"] > 0
    assert strengths["confusion"] < 0
    assert strengths["abandoned"] < 0
    assert fired(behaviour(bounced=True)) == {"bounced"}
    assert signals.bounced(behaviour(bounced=True), SETTINGS) < 0


def test_thresholds_are_settings() -> None:
    strict = DistillationSettings(dwell_strong_s=20, scroll_completed=1.0, returns_confused=5)
    given = behaviour(dwell_s=19, scroll=0.99, back_and_return=4)
    assert signals.implicit_signals(event(behaviour=given), strict) == []


def test_a_correction_speaks_for_the_corrected_frame_and_against_the_answer() -> None:
    found = signals.correction_signals(event(correction=WANTED))
    assert {(s.candidate, s.strength, s.source) for s in found} == {(WANTED, 1.0, "implicit"), (ANSWER, -1.0, "implicit")}


def test_a_correction_that_changes_nothing_is_no_signal() -> None:
    assert signals.correction_signals(event(answer=WANTED, correction=WANTED)) == []


def test_an_operator_label_speaks_for_its_frame_and_against_a_different_answer() -> None:
    found = signals.operator_signals(event(operator_label=WANTED))
    assert {(s.candidate, s.strength, s.source) for s in found} == {(WANTED, 1.0, "operator"), (ANSWER, -1.0, "operator")}
    agreed = signals.operator_signals(event(answer=WANTED, operator_label=WANTED))
    assert [(s.candidate, s.strength) for s in agreed] == [(WANTED, 1.0)]


def test_an_unparsable_answer_gives_no_candidate_of_its_own_but_its_correction_does() -> None:
    given = event(answer=None, behaviour=behaviour(dwell_s=30, abandoned=True), correction=WANTED)
    assert [(s.candidate, s.rule) for s in signals.signals_of(given, SETTINGS)] == [(WANTED, "correction")]


def test_the_winners_answers_get_a_signal_as_strong_as_the_lead() -> None:
    shown = [event(), event(answer=None, case="n"), event(case="p", arm="probe")]
    found = signals.ab_winner_signals(shown, "champion", 0.2)
    assert [(s.case, s.source, s.strength) for s in found] == [("c", "ab_winner", 0.2)]
    assert signals.ab_winner_signals(shown, None, 0.0) == []
