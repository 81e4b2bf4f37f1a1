"""One row by a migration map: its new label, or why a person must decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from kickwheel.intent.slot_values import told
from kickwheel.registry.labels import LabelledLine, frame_key
from kickwheel.registry.migration_rules import IntentRule
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.registry import LabelFile
from schemas.task import TaskCatalog


@dataclass(frozen=True)
class Relabelled:
    """The row with its new label."""

    text: str
    before: str
    after: str


@dataclass(frozen=True)
class Undecided:
    """A row for people."""

    reason: str
    candidates: tuple[str, ...]


def relabel(
    line: LabelledLine, split: LabelFile, rules: Mapping[str, IntentRule], catalog: TaskCatalog
) -> Relabelled | Undecided | None:
    """What becomes of a row; None: the map does not change it."""
    frame = line.frame
    rule = rules.get(frame.intent) if frame else None
    if frame is None or rule is None:
        return None
    intent = rule.decide(line.id, frame)
    if intent is None:
        return Undecided(f"{frame.intent} is split and nothing decides for this row", rule.candidates)
    slots = [
        slot.model_copy(update={"name": rule.renamed_slots.get(slot.name, slot.name)})
        for slot in frame.slots
        if slot.name not in rule.dropped_slots
    ]
    try:
        label = Frame(intent=intent, slots=tuple(slots))
    except ValidationError as error:
        return Undecided(f"as {intent}: {error.errors()[0]['msg']}", (intent,))
    if problem := _misfit(label, catalog):
        return Undecided(problem, (intent,))
    return None if label == frame else Relabelled(_rewritten(line, split, label), frame.intent, intent)


def _misfit(label: Frame, catalog: TaskCatalog) -> str | None:
    """What the new intent does not take."""
    specs = {spec.name: spec for spec in catalog.slots_of(label.intent)}
    names = [slot.name for slot in label.slots]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        return f"{label.intent}: slot {repeated!r} would stand there twice"
    if label.intent != OUT_OF_SCOPE and (foreign := next((name for name in names if name not in specs), None)):
        return f"{label.intent} has no slot {foreign!r}; it has: {', '.join(specs) or 'none'}"
    return next(filter(None, (told(slot.value, specs[slot.name]) for slot in label.slots)), None)


def _rewritten(line: LabelledLine, split: LabelFile, label: Frame) -> str:
    """The row's JSON with another label, in the spacing that it had, whatever else it holds kept."""
    key = frame_key(split)
    row = dict(line.row or {})
    extra = {slot["start"]: slot for slot in row[key].get("slots") or ()}
    slots = [{**extra[slot.start], "name": slot.name} for slot in label.slots]
    row[key] = {**row[key], "intent": label.intent, **({"slots": slots} if "slots" in row[key] else {})}
    compact = json.dumps(line.row, ensure_ascii=False, separators=(",", ":")) == line.text.strip()
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":") if compact else (", ", ": "))
    return f"{text}\r" if line.text.endswith("\r") else text
