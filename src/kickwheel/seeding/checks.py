"""What a teacher's label must pass before anybody learns from it: rules, and agreement with the independent labeller."""

from __future__ import annotations

from kickwheel.intent.slot_values import broken_rule
from kickwheel.seeding.named_targets import NamedTargets, contradicts, names_nothing
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.task import TaskCatalog


def failed_checks(
    text: str, frame: Frame, catalog: TaskCatalog, independent: Frame, named: NamedTargets = names_nothing
) -> tuple[str, ...]:
    """Names of the checks that a teacher's label fails, rules first; empty: accept it."""
    entity = ("entity_disagrees",) if contradicts(text, frame, catalog, named) else ()
    return (*failed_rules(text, frame, catalog), *entity, *disagreements(frame, independent))


def failed_rules(text: str, frame: Frame, catalog: TaskCatalog) -> tuple[str, ...]:
    """Names of the rules that a frame breaks, whoever wrote it."""
    if frame.intent != OUT_OF_SCOPE and frame.intent not in catalog.intents:
        return ("unknown_intent",)
    specs = {spec.name: spec for spec in catalog.slots_of(frame.intent)}
    names = [slot.name for slot in frame.slots]
    values = {broken_rule(slot.value, specs[slot.name]) for slot in frame.slots if slot.name in specs}
    broken = {
        "foreign_slot": any(name not in specs for name in names),
        "repeated_slot": len(set(names)) < len(names),
        "span_not_in_text": any(text[slot.start : slot.end] != slot.value for slot in frame.slots),
        "blank_slot": any(not _says_something(slot.value) for slot in frame.slots),
        "ragged_slot": any(slot.value != slot.value.strip() for slot in frame.slots),
        "whole_text": any(slot.value.strip() == text.strip() for slot in frame.slots),
        "value_not_allowed": "value_not_allowed" in values,
        "pattern": "pattern" in values,
    }
    return tuple(name for name, holds in broken.items() if holds)


def disagreements(frame: Frame, independent: Frame) -> tuple[str, ...]:
    """Where two labellers that do not know of each other differ."""
    if frame.intent != independent.intent:
        return ("intent_disagrees",)
    return () if frame.slots == independent.slots else ("slots_disagree",)


def _says_something(value: str) -> bool:
    """A date of ``-`` or a region of ``…`` is empty, whatever its length."""
    return any(char.isalnum() for char in value)
