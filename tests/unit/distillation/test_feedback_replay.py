"""Replay, the A/B test on it and the business metrics."""

from __future__ import annotations

import pytest

from kickwheel.distillation.ab_test import ab_test
from kickwheel.distillation.business import ServingUse, business_metrics
from kickwheel.distillation.replay import Arm, ArmAnswers, assign_arm, replay
from schemas.feedback import Behaviour, FeedbackCase, FeedbackEvent
from schemas.frame import Frame, Prediction

TEXT = "把昨天的订单同步到湖里🙏"
WANTED = Frame.from_values(TEXT, "sync_orders", {"date": "昨天"})
OTHER = Frame(intent="sync_payments")
RIGHT = Behaviour(dwell_s=12, scroll=1)
WRONG = Behaviour(dwell_s=3, scroll=0.1, corrected=True, turns=4)


def case(number: int, *, operator_labels: bool = False, when_right: Behaviour = RIGHT) -> FeedbackCase:
    return FeedbackCase(
        id=f"fb-{number}",
        user=f"u-{number}",
        text=TEXT,
        wanted=WANTED,
        when_right=when_right,
        when_wrong=WRONG,
        operator_labels=operator_labels,
    )


def answers(*frames: Frame | None) -> ArmAnswers:
    return ArmAnswers("m", [Prediction(frame=frame) for frame in frames])


def event(user: str, arm: Arm, completed: bool, turns: int = 1, correction: Frame | None = None) -> FeedbackEvent:
    return FeedbackEvent(
        case=f"case-{user}",
        user=user,
        text=TEXT,
        arm=arm,
        propensity=0.5,
        model="m",
        answer=WANTED,
        behaviour=Behaviour(dwell_s=1, scroll=0, turns=turns),
        correction=correction,
        completed=completed,
    )


def arm(name: Arm, completed: int, rows: int) -> list[FeedbackEvent]:
    return [event(f"{name}-{number}", name, number < completed) for number in range(rows)]


def test_a_user_keeps_the_arm_within_an_experiment_and_the_share_holds() -> None:
    users = [f"u-{number}" for number in range(4000)]
    first = [assign_arm("lap-1", user, 0.8) for user in users]
    assert first == [assign_arm("lap-1", user, 0.8) for user in users]
    assert first != [assign_arm("lap-2", user, 0.8) for user in users]
    assert 0.78 < first.count("champion") / len(users) < 0.82
    assert {assign_arm("lap-1", user, 1.0) for user in users} == {"champion"}
    assert {assign_arm("lap-1", user, 0.0) for user in users} == {"probe"}


def test_the_answer_decides_the_behaviour_and_events_say_that_they_are_replayed() -> None:
    cases = [case(1), case(2), case(3, operator_labels=True)]
    champion = answers(WANTED, OTHER, None)
    events = replay(cases, {"champion": champion, "probe": champion}, experiment="e", champion_share=1.0)
    assert [e.completed for e in events] == [True, False, False]
    assert [e.behaviour for e in events] == [RIGHT, WRONG, WRONG]
    assert [e.correction for e in events] == [None, WANTED, WANTED]
    assert [e.operator_label for e in events] == [None, None, WANTED]
    assert all(e.replayed and e.arm == "champion" and e.propensity == 1.0 for e in events)


def test_each_user_is_answered_by_the_arm_assigned_and_its_propensity_is_logged() -> None:
    cases = [case(number) for number in range(40)]
    given: dict[Arm, ArmAnswers] = {"champion": answers(*[WANTED] * 40), "probe": answers(*[OTHER] * 40)}
    events = replay(cases, given, experiment="e", champion_share=0.75)
    assert {e.arm for e in events} == {"champion", "probe"}
    assert all(e.answer == (WANTED if e.arm == "champion" else OTHER) for e in events)
    assert all(e.propensity == (0.75 if e.arm == "champion" else 0.25) for e in events)


def test_a_right_answer_that_the_user_gave_up_on_is_not_completed() -> None:
    left = [case(1, when_right=Behaviour(dwell_s=1, scroll=0, abandoned=True))]
    given: dict[Arm, ArmAnswers] = {"champion": answers(WANTED), "probe": answers(WANTED)}
    assert not replay(left, given, experiment="e", champion_share=1.0)[0].completed


def test_missing_predictions_are_refused() -> None:
    given: dict[Arm, ArmAnswers] = {"champion": answers(WANTED), "probe": answers()}
    with pytest.raises(ValueError, match="arm 'probe': expected 1 predictions"):
        replay([case(1)], given, experiment="e", champion_share=1.0)


def test_a_clear_difference_has_a_winner_with_its_lead() -> None:
    result = ab_test(arm("champion", 90, 100) + arm("probe", 60, 100), 0.5)
    assert result.winner == "champion"
    assert result.lead == pytest.approx(0.3)
    assert result.note.startswith("champion wins: champion completed 90 of 100 (90.0 %), probe completed 60 of 100 (60.0 %)")


def test_a_difference_that_may_be_chance_has_no_winner() -> None:
    result = ab_test(arm("champion", 66, 100) + arm("probe", 60, 100), 0.5)
    assert (result.winner, result.lead) == (None, 0.0)
    assert result.note.startswith("no winner:")


def test_a_skewed_sample_ratio_is_invalid_however_clear_the_difference() -> None:
    """Acceptance check 10 of the pitfalls: split 50/50, seen 60/40."""
    result = ab_test(arm("champion", 570, 600) + arm("probe", 100, 400), 0.5)
    assert result.winner is None
    assert result.note.startswith("invalid: sample ratio")
    assert ab_test(arm("champion", 570, 600) + arm("probe", 100, 400), 0.6).winner == "champion"


def test_the_sample_ratio_counts_users_not_their_cases() -> None:
    one_busy_user = [event("busy", "champion", True)] * 400
    assert ab_test(arm("champion", 50, 100) + arm("probe", 50, 100) + one_busy_user, 0.5).sample_ratio_p == pytest.approx(
        0.94, abs=0.01
    )


def test_one_arm_is_no_test() -> None:
    assert ab_test(arm("champion", 5, 10), 1.0).note == "no test: all users saw the same arm"
    assert ab_test([], 0.5).note == "no test: no events"
    assert ab_test(arm("champion", 50, 100), 0.5).note.startswith("invalid: sample ratio")
    assert ab_test(arm("champion", 5, 10) + arm("probe", 1, 1), 1.0).note.startswith("invalid: sample ratio")


def test_business_metrics_are_by_arm() -> None:
    events = [event("a", "champion", True, 1), event("b", "champion", False, 4, WANTED), event("c", "probe", True, 2)]
    use: dict[Arm, ServingUse] = {
        "champion": ServingUse(
            10, prompt_tokens=3000, completion_tokens=500, prompt_price_per_1m=2.0, completion_price_per_1m=8.0
        )
    }
    metrics = business_metrics(events, use)
    champion = metrics["champion"]
    assert (champion.cases, champion.task_completion, champion.turns, champion.correction_rate) == (2, 0.5, 2.5, 0.5)
    # an answer costs (3000 * 2 + 500 * 8) / 1e6 / 10 = 0.001; two answers were given for one completed task
    assert champion.cost_per_1k_tasks == pytest.approx(2.0)
    assert metrics["probe"].cost_per_1k_tasks == 0.0, "a local model has no token price unless one is set"


def test_nothing_completed_costs_as_if_one_task_had_been() -> None:
    use: dict[Arm, ServingUse] = {"champion": ServingUse(prompt_tokens=1000, prompt_price_per_1m=1.0)}
    metrics = business_metrics([event("a", "champion", False), event("b", "champion", False)], use)
    assert metrics["champion"].cost_per_1k_tasks == pytest.approx(2.0)
    assert "probe" not in metrics


def test_a_model_that_we_serve_costs_machine_time() -> None:
    # 36 s of a machine at 2.0 an hour for 10 answers: 0.002 an answer; 5 of 10 cases completed: 4.0 per 1,000 tasks.
    events = [event(str(number), "champion", number < 5) for number in range(10)]
    use: dict[Arm, ServingUse] = {"champion": ServingUse(10, machine_seconds=36.0, machine_price_per_hour=2.0)}
    assert business_metrics(events, use)["champion"].cost_per_1k_tasks == pytest.approx(4.0)
