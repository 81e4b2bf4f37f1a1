"""What the triggers say now; nothing is changed."""

from __future__ import annotations

from kickwheel.distillation.trigger_state import used_so_far
from kickwheel.distillation.triggers import judge_triggers, split_evidence
from kickwheel.feedback.opening import has_store, opened_store
from kickwheel.settings import Settings
from schemas.triggers import TriggerVerdict

NOTHING = TriggerVerdict(
    due=False, fired=(), new_answers=0, telling_answers=0, stability_index=0, low_confidence=0, low_confidence_before=0
)


def look_at(settings: Settings, domain: str, *, by_hand: bool = False) -> TriggerVerdict:
    """The verdict on a domain's event store; nothing fires where there is none."""
    return look_with_place(settings, domain, by_hand=by_hand)[0]


def look_with_place(settings: Settings, domain: str, *, by_hand: bool = False) -> tuple[TriggerVerdict, int, int]:
    """The same with the store's identity and the number of its last change at that moment."""
    if not has_store(settings, domain):
        return NOTHING, 0, 0
    with opened_store(settings, domain) as store:
        identity, sequence = store.identity(), store.sequence()
        after = used_so_far(settings.home, domain, identity)
        evidence = split_evidence(store.exchanges(until=sequence), after)
    return judge_triggers(evidence, settings.trigger, by_hand=by_hand), identity, sequence
