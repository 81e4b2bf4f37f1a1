"""What a reviewer says, as an answer that holds: the label fits the decision, the text and the domain's tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ValidationError

from kickwheel.errors import InputError
from kickwheel.intent.slot_values import told
from kickwheel.seeding.checks import failed_rules
from kickwheel.seeding.review_queue import ReviewItem
from schemas.frame import OUT_OF_SCOPE, Frame, Slot
from schemas.review import Decision, ReviewAnswer
from schemas.task import TaskCatalog

Via = Literal["page", "file", "label_studio"]
_FOR_MACHINES = {"whole_text"}
"""Rules that catch a model's bad habits; a person may mean it."""


def answer_to(
    item: ReviewItem,
    catalog: TaskCatalog,
    *,
    reviewer: str,
    at: datetime,
    via: Via,
    decision: Decision | None = None,
    frame: Frame | None = None,
) -> ReviewAnswer:
    """An answer to a row. A label alone is a decision; whether it was accepted or written anew is told by the suggestion.

    Raises:
        InputError: field and message say what does not hold.
    """
    if decision == "accepted" and frame is None:
        frame = item.suggestion
        if frame is None:
            raise InputError("there is no suggestion to accept: give a frame", field="decision")
    if decision is None and frame is None:
        raise InputError("neither a decision nor a frame: what is the answer?", field="decision")
    if decision in ("skipped", "withdrawn"):
        if frame is not None:
            raise InputError(f"a row that is {decision} has no label: leave frame out", field="frame")
    elif frame is None:
        raise InputError(f"{decision} needs a label: intent and slots", field="frame")
    else:
        refuse_unfit(item.text, frame, catalog)
        decision = "accepted" if frame == item.suggestion else "labelled"
    try:
        return ReviewAnswer(id=item.id, text=item.text, decision=decision, frame=frame, reviewer=reviewer, at=at, via=via)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(first["msg"], field=".".join(str(part) for part in first["loc"]) or None) from error


def refuse_unfit(text: str, frame: Frame, catalog: TaskCatalog) -> None:
    """Refuse a label that the domain's tasks or the text do not bear out.

    Raises:
        InputError: says which rule and what would fit.
    """
    broken = [rule for rule in failed_rules(text, frame, catalog) if rule not in _FOR_MACHINES]
    if broken:
        field = "frame.intent" if broken[0] == "unknown_intent" else "frame.slots"
        raise InputError(_in_words(broken[0], text, frame, catalog), field=field)


def tightened(text: str, name: str, start: int, end: int) -> Slot:
    """A slot without the white space that a hand has marked along with it. Offsets are code points.

    Raises:
        InputError: nothing but white space is marked, or the span lies outside the text.
    """
    if not 0 <= start < end <= len(text):
        raise InputError(f"slot {name!r}: {start}:{end} is no span of a text of {len(text)} characters", field="frame.slots")
    value = text[start:end]
    start += len(value) - len(value.lstrip())
    value = value.strip()
    if not value:
        raise InputError(f"slot {name!r}: only white space is marked", field="frame.slots")
    try:
        return Slot(name=name, value=value, start=start, end=start + len(value))
    except ValidationError as error:
        raise InputError(f"{name!r} is no name of a slot", field="frame.slots") from error


def _in_words(rule: str, text: str, frame: Frame, catalog: TaskCatalog) -> str:
    specs = {spec.name: spec for spec in catalog.slots_of(frame.intent)}
    if rule == "unknown_intent":
        return f"{frame.intent!r} is none of the domain's intents: {', '.join((*catalog.intents, OUT_OF_SCOPE))}"
    if rule == "foreign_slot":
        foreign = next(slot.name for slot in frame.slots if slot.name not in specs)
        return f"{frame.intent} has no slot {foreign!r}, but {', '.join(specs) or 'none at all'}"
    if rule == "repeated_slot":
        return "a slot stands once: mark it in the place that counts"
    if rule == "span_not_in_text":
        slot = next(slot for slot in frame.slots if text[slot.start : slot.end] != slot.value)
        seen = text[slot.start : slot.end]
        return f"slot {slot.name!r}: text[{slot.start}:{slot.end}] is {seen!r}, not {slot.value!r} (offsets are code points)"
    if rule == "blank_slot":
        return "a slot's value holds no letter and no digit"
    if rule == "ragged_slot":
        return "a slot's value begins or ends with white space"
    words = (told(slot.value, specs[slot.name]) for slot in frame.slots if slot.name in specs)
    return next(filter(None, words), f"the label breaks the rule {rule}")
