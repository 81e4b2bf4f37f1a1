"""Fusion, closed sets and targets, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from kickwheel.distillation.candidates import ClosedSet, closed_set
from kickwheel.distillation.fusion import FusedCase, fuse
from kickwheel.distillation.targets import TAU, distillation_row, evidence_weight, has_support
from kickwheel.settings import DistillationSettings
from schemas.feedback import Behaviour, FeedbackEvent, Signal, SignalSource
from schemas.frame import OUT_OF_SCOPE, Frame, Prediction

SETTINGS = DistillationSettings()
A, B, C = Frame(intent="a"), Frame(intent="b"), Frame(intent="c")
NOTHING = Frame(intent=OUT_OF_SCOPE)


def signal(candidate: Frame, source: SignalSource, strength: float, rule: str = "r", case: str = "x") -> Signal:
    return Signal(case=case, candidate=candidate, source=source, rule=rule, strength=strength)


def event(case: str = "x", correction: Frame | None = None, operator_label: Frame | None = None) -> FeedbackEvent:
    return FeedbackEvent(
        case=case,
        user="u",
        text="text",
        arm="champion",
        propensity=0.8,
        model="m",
        answer=A,
        behaviour=Behaviour(dwell_s=1, scroll=0),
        correction=correction,
        operator_label=operator_label,
        completed=False,
    )


def fused(*signals: Signal) -> FusedCase:
    return fuse(signals, SETTINGS)["x"]


def test_three_sources_are_weighted_six_three_one() -> None:
    case = fused(signal(A, "operator", 1), signal(A, "implicit", 0.5), signal(A, "ab_winner", 0.2))
    assert case.fused(A) == pytest.approx(0.6 * 1 + 0.3 * 0.5 + 0.1 * 0.2)


def test_signals_of_one_source_are_averaged_before_they_are_weighed() -> None:
    case = fused(signal(A, "operator", 1), signal(A, "implicit", 0.5, "dwell"), signal(A, "implicit", -1, "correction"))
    assert case.fused(A) == pytest.approx((0.6 * 1 + 0.3 * -0.25) / 0.9)


def test_weights_are_renormalised_over_the_sources_that_spoke_about_the_candidate() -> None:
    case = fused(signal(A, "implicit", -1), signal(A, "ab_winner", 1), signal(B, "implicit", 1))
    assert case.fused(A) == pytest.approx((0.3 * -1 + 0.1 * 1) / 0.4)
    assert case.fused(B) == pytest.approx(1.0)
    assert case.fused(C) == 0.0


def test_only_sources_that_disagree_about_the_same_candidate_are_a_conflict() -> None:
    between = fused(signal(A, "operator", 1), signal(A, "implicit", -0.5))
    within = fused(signal(A, "implicit", 0.5, "dwell"), signal(A, "implicit", -1, "correction"))
    about_two = fused(signal(A, "implicit", -1), signal(B, "operator", 1))
    assert [between.conflict, within.conflict, about_two.conflict] == [True, False, False]
    assert between.fused(A) == pytest.approx((0.6 - 0.15) / 0.9), "a conflict is kept, not dropped"


def test_evidence_counts_rules_not_the_frames_that_a_rule_speaks_about() -> None:
    stated = fused(signal(A, "implicit", -1, "correction"), signal(B, "implicit", 1, "correction"))
    more = fused(
        signal(A, "implicit", -1, "correction"), signal(B, "implicit", 1, "correction"), signal(B, "operator", 1, "label")
    )
    assert (stated.evidence, more.evidence) == (1, 2)
    assert 0 < evidence_weight(1) < evidence_weight(2) < evidence_weight(5) < 1


def test_the_closed_set_holds_what_was_answered_or_stated_each_once() -> None:
    found = closed_set(event(correction=B, operator_label=B), Prediction(frame=A), Prediction(frame=C), [])
    assert set(found.frames) == {A, B, C}
    assert len(found.frames) == 3


def test_an_unparsable_answer_leaves_the_probes_and_a_rival() -> None:
    found = closed_set(event(), Prediction(error="malformed"), Prediction(frame=B), [B.intent, "c"])
    assert set(found.frames) == {B, C}
    assert set(closed_set(event(), Prediction(error="malformed"), Prediction(frame=B), []).frames) == {B, NOTHING}


def test_all_the_same_takes_the_probes_next_best_intent_without_slots() -> None:
    nothing = Prediction(frame=NOTHING)
    assert set(closed_set(event(), nothing, nothing, [OUT_OF_SCOPE, "c", "a"]).frames) == {NOTHING, C}
    assert closed_set(event(), nothing, nothing, [OUT_OF_SCOPE]).frames == (NOTHING,)


def test_candidate_order_does_not_tell_which_one_is_right() -> None:
    def order(case: str, right: Frame, wrong: Frame) -> tuple[Frame, ...]:
        return closed_set(event(case, correction=right), Prediction(frame=wrong), Prediction(frame=wrong)).frames

    cases = [f"fb-{number}" for number in range(300)]
    assert all(order(case, A, B) == order(case, B, A) for case in cases), "the order must not depend on who said what"
    places = [order(case, A, B).index(A) for case in cases]
    assert all(places.count(place) > 100 for place in range(2)), "the right frame must stand at every place"


def test_targets_are_the_softmax_of_the_fused_signals_without_a_teacher() -> None:
    case = fused(signal(A, "operator", 1), signal(B, "operator", -1))
    row = distillation_row(ClosedSet("x", "text", (A, B, C)), case, None, teacher_mix=0.3)
    powers = [math.exp(1 / TAU), math.exp(-1 / TAU), 1.0]
    assert [c.target for c in row.candidates] == pytest.approx([power / sum(powers) for power in powers])
    assert [c.teacher for c in row.candidates] == [None, None, None]


def test_the_teacher_has_its_share_of_the_target() -> None:
    case = fused(signal(A, "operator", 1))
    frames = ClosedSet("x", "text", (A, B))
    alone = distillation_row(frames, case, None, teacher_mix=0.3)
    mixed = distillation_row(frames, case, (0.1, 0.9), teacher_mix=0.3)
    assert mixed.candidates[0].target == pytest.approx(0.7 * alone.candidates[0].target + 0.3 * 0.1)
    assert sum(c.target for c in mixed.candidates) == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ValueError, match="expected 2 teacher scores, got 1"):
        distillation_row(frames, case, (1.0,), teacher_mix=0.3)


def test_signals_that_only_speak_against_the_answer_support_nothing() -> None:
    assert not has_support(fused(signal(A, "implicit", -0.75)))
    assert not has_support(None)
    assert has_support(fused(signal(A, "implicit", -1), signal(B, "implicit", 1)))
