"""The white papers' rules (F12): behaviour and operators' labels as signals about candidate frames.

One set of rules for live traffic and for the replay. Each rule is on its own and may contradict another: fusion settles it.
Thresholds and strengths are settings: a strength says how much a rule proves. What a person states (a correction, an operator's
label) counts in full, what is only inferred from behaviour counts less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kickwheel.settings import DistillationSettings
from schemas.feedback import Behaviour, Exposure, FeedbackEvent, OperatorLabel, Signal
from schemas.frame import Frame

STATED = 1.0


def dwell(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """Strong interest: at least ``dwell_strong_s`` seconds (8) on the answer."""
    return settings.dwell_strength if behaviour.dwell_s >= settings.dwell_strong_s else 0.0


def scroll_completed(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """Completed: at least ``scroll_completed`` (90 %) scrolled, without a bounce."""
    return settings.scroll_strength if behaviour.scroll >= settings.scroll_completed and not behaviour.bounced else 0.0


def confusion(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """Confusion: left and came back at least ``returns_confused`` (3) times."""
    return -settings.confusion_strength if behaviour.back_and_return >= settings.returns_confused else 0.0


def abandoned(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The user gave the task up."""
    return -settings.abandon_strength if behaviour.abandoned else 0.0


def bounced(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The user left at once."""
    return -settings.bounce_strength if behaviour.bounced else 0.0


def rephrased(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The user had to say it again."""
    return -settings.rephrase_strength if behaviour.rephrased else 0.0


def thumbs(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The user judged the answer, up or down."""
    if behaviour.thumbs_up is None:
        return 0.0
    return settings.thumbs_strength if behaviour.thumbs_up else -settings.thumbs_strength


def outcome(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The business saw the task done, or not done. A task that was done after a correction does not speak for the answer."""
    if behaviour.completed is None or behaviour.corrected:
        return 0.0
    return settings.outcome_strength if behaviour.completed else -settings.outcome_strength


def conversion(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The business event that counts took place. That it did not says nothing: most answers are not for sale."""
    return settings.conversion_strength if behaviour.converted and not behaviour.corrected else 0.0


BEHAVIOUR_RULES: Mapping[str, Callable[[Behaviour, DistillationSettings], float]] = {
    "dwell": dwell,
    "scroll_completed": scroll_completed,
    "confusion": confusion,
    "abandoned": abandoned,
    "bounced": bounced,
    "rephrased": rephrased,
    "thumbs": thumbs,
    "outcome": outcome,
    "conversion": conversion,
}
"""Rules about the answer that was shown: strength, 0 where the rule does not fire."""

_SEEN: Mapping[str, Callable[[Behaviour], str]] = {
    "dwell": lambda behaviour: f"{behaviour.dwell_s:g} s on the answer",
    "scroll_completed": lambda behaviour: f"{100 * behaviour.scroll:.0f} % scrolled, no bounce",
    "confusion": lambda behaviour: f"left and came back {behaviour.back_and_return} times",
    "abandoned": lambda _: "gave the task up",
    "bounced": lambda _: "left at once",
    "rephrased": lambda _: "said it again in other words",
    "thumbs": lambda behaviour: "thumbs up" if behaviour.thumbs_up else "thumbs down",
    "outcome": lambda behaviour: "task done" if behaviour.completed else "task not done",
    "conversion": lambda _: "conversion",
}


def implicit_signals(event: FeedbackEvent, settings: DistillationSettings) -> list[Signal]:
    """What the behaviour says about the answer. A reply that is no frame has nothing to speak about."""
    if event.answer is None:
        return []
    fired = [(name, rule(event.behaviour, settings)) for name, rule in BEHAVIOUR_RULES.items()]
    return [
        _signal(event, event.answer, name, strength, evidence=_SEEN[name](event.behaviour))
        for name, strength in fired
        if strength
    ]


def correction_signals(event: FeedbackEvent) -> list[Signal]:
    """For the frame that the user edited the answer into, against the answer. An edit that changed nothing says nothing."""
    corrected = event.correction
    if corrected is None or corrected == event.answer:
        return []
    evidence = "edited the answer"
    signals = [_signal(event, corrected, "correction", STATED, evidence=evidence)]
    if event.answer is not None:
        signals.append(_signal(event, event.answer, "correction", -STATED, evidence=evidence))
    return signals


def operator_signals(event: FeedbackEvent) -> list[Signal]:
    """For each operator's frame, against an answer that differs from it."""
    unnamed = (OperatorLabel(operator="", frame=event.operator_label),) if event.operator_label is not None else ()
    signals = []
    for label in event.operator_labels or unnamed:
        evidence = f"labelled by {label.operator or 'an operator'}"
        signals.append(_operator_signal(event, label.frame, STATED, label.operator, evidence))
        if event.answer is not None and event.answer != label.frame:
            signals.append(_operator_signal(event, event.answer, -STATED, label.operator, evidence))
    return signals


def ab_winner_signals(events: Sequence[FeedbackEvent], winner: str | None, lead: float) -> list[Signal]:
    """For the answers that the winning arm showed, as strong as its ``lead``: the difference of completion rates, 0 to 1.

    The lead and not 1: an arm that wins by ten points is right more often, not right about this case.
    """
    return [
        Signal(
            case=event.case,
            candidate=event.answer,
            source="ab_winner",
            rule="ab_winner",
            strength=lead,
            inference_id=event.inference_id,
            exposure=exposure_of(event),
            evidence=f"arm {winner} won by {100 * lead:.1f} points",
        )
        for event in events
        if winner is not None and event.arm == winner and event.answer is not None
    ]


def signals_of(event: FeedbackEvent, settings: DistillationSettings) -> list[Signal]:
    """All signals that one answer gives by itself (the A/B winner needs all of them)."""
    return [*implicit_signals(event, settings), *correction_signals(event), *operator_signals(event)]


def exposure_of(event: FeedbackEvent) -> Exposure:
    """How the answer came to be seen."""
    return Exposure(arm=event.arm, propensity=event.propensity, position=event.position)


def _signal(event: FeedbackEvent, candidate: Frame, rule: str, strength: float, evidence: str) -> Signal:
    return Signal(
        case=event.case,
        candidate=candidate,
        source="implicit",
        rule=rule,
        strength=strength,
        user=event.user,
        inference_id=event.inference_id,
        exposure=exposure_of(event),
        evidence=evidence,
    )


def _operator_signal(event: FeedbackEvent, candidate: Frame, strength: float, operator: str, evidence: str) -> Signal:
    signal = _signal(event, candidate, "operator_label", strength, evidence)
    return signal.model_copy(update={"source": "operator", "user": operator})
