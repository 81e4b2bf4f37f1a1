"""The white papers' rules (F12): behaviour and operators' labels as signals about candidate frames.

Each rule is on its own and may contradict another: fusion settles it. Thresholds are settings; the strengths below say
how much a rule proves. What a person states (a correction, an operator's label) counts in full, what is only
inferred from behaviour counts less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kickwheel.settings import DistillationSettings
from schemas.feedback import Behaviour, FeedbackEvent, Signal

DWELL = 0.5
SCROLL_COMPLETED = 0.75
CONFUSION = -0.75
ABANDONED = -0.75
BOUNCED = -0.5
STATED = 1.0


def dwell(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """Strong interest: at least ``dwell_strong_s`` seconds (8) on the answer."""
    return DWELL if behaviour.dwell_s >= settings.dwell_strong_s else 0.0


def scroll_completed(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """Completed: at least ``scroll_completed`` (90 %) scrolled, without a bounce."""
    return SCROLL_COMPLETED if behaviour.scroll >= settings.scroll_completed and not behaviour.bounced else 0.0


def confusion(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """Confusion: left and came back at least ``returns_confused`` (3) times."""
    return CONFUSION if behaviour.back_and_return >= settings.returns_confused else 0.0


def abandoned(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The user gave the task up."""
    return ABANDONED if behaviour.abandoned else 0.0


def bounced(behaviour: Behaviour, settings: DistillationSettings) -> float:
    """The user left at once."""
    return BOUNCED if behaviour.bounced else 0.0


BEHAVIOUR_RULES: Mapping[str, Callable[[Behaviour, DistillationSettings], float]] = {
    "dwell": dwell,
    "scroll_completed": scroll_completed,
    "confusion": confusion,
    "abandoned": abandoned,
    "bounced": bounced,
}
"""Rules about the answer that was shown: strength, 0 where the rule does not fire."""


def implicit_signals(event: FeedbackEvent, settings: DistillationSettings) -> list[Signal]:
    """What the behaviour says about the answer. A reply that is no frame has nothing to speak about."""
    if event.answer is None:
        return []
    fired = [(name, rule(event.behaviour, settings)) for name, rule in BEHAVIOUR_RULES.items()]
    return [
        Signal(case=event.case, candidate=event.answer, source="implicit", rule=name, strength=strength)
        for name, strength in fired
        if strength
    ]


def correction_signals(event: FeedbackEvent) -> list[Signal]:
    """For the frame that the user edited the answer into, against the answer. An edit that changed nothing says nothing."""
    corrected = event.correction
    if corrected is None or corrected == event.answer:
        return []
    signals = [Signal(case=event.case, candidate=corrected, source="implicit", rule="correction", strength=STATED)]
    if event.answer is not None:
        signals.append(Signal(case=event.case, candidate=event.answer, source="implicit", rule="correction", strength=-STATED))
    return signals


def operator_signals(event: FeedbackEvent) -> list[Signal]:
    """For the operator's frame, against an answer that differs from it."""
    label = event.operator_label
    if label is None:
        return []
    signals = [Signal(case=event.case, candidate=label, source="operator", rule="operator_label", strength=STATED)]
    if event.answer is not None and event.answer != label:
        signals.append(
            Signal(case=event.case, candidate=event.answer, source="operator", rule="operator_label", strength=-STATED)
        )
    return signals


def ab_winner_signals(events: Sequence[FeedbackEvent], winner: str | None, lead: float) -> list[Signal]:
    """For the answers that the winning arm showed, as strong as its ``lead``: the difference of completion rates, 0 to 1.

    The lead and not 1: an arm that wins by ten points is right more often, not right about this case.
    """
    return [
        Signal(case=event.case, candidate=event.answer, source="ab_winner", rule="ab_winner", strength=lead)
        for event in events
        if winner is not None and event.arm == winner and event.answer is not None
    ]


def signals_of(event: FeedbackEvent, settings: DistillationSettings) -> list[Signal]:
    """All signals that one event gives by itself (the A/B winner needs all events)."""
    return [*implicit_signals(event, settings), *correction_signals(event), *operator_signals(event)]
