"""Rows without a model: labelled rows with other slot values, and the phrasings of the requirement documents.

It invents no wording, so it teaches which words are slot values and, for an intent without rows, what the documents call it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from kickwheel.seeding.coverage import WHOLE_INTENT
from kickwheel.seeding.synthesis.ports import Draft
from schemas.frame import Frame, Slot
from schemas.synthesis import SynthesisOrder
from schemas.task import SlotSpec, TaskCatalog, TaskSchema
from schemas.utterance import Utterance, language_of

_MORE = 3
"""Drafts a wanted row: the checks refuse many that are too like their parents."""


class TemplateWriter:
    """A :class:`~kickwheel.seeding.synthesis.ports.Writer`. Deterministic under a seed."""

    name = "templates"

    def __init__(self, catalog: TaskCatalog, labelled: Sequence[Utterance], *, seed: int) -> None:
        self._tasks = {task.intent: task for task in catalog.tasks}
        self._rows = [row for row in labelled if row.frame is not None]
        self._seed = seed
        self._values = _values_by_slot(catalog, self._rows)

    def write(self, order: SynthesisOrder) -> list[Draft]:
        """Boundary rows take a writer who can think of wordings: none are written."""
        if order.reason == "boundary":
            return []
        # Of the order alone, so that another order before it changes nothing.
        name = f"{order.intent}/{order.slot}/{order.language}"
        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        task = self._tasks[order.intent]
        parents = [row for row in self._rows if row.frame and row.frame.intent == order.intent]
        parents = [row for row in parents if row.language == order.language and _has(row, order.slot)]
        drafts = [] if parents else _phrased(task, order)
        parents = [row for row in parents if row.frame and row.frame.slots]
        for place in range(_MORE * order.wanted if parents else 0):
            draft = self._swapped(parents[place % len(parents)], rng)
            drafts += [draft] if draft else []
        return drafts

    def _swapped(self, parent: Utterance, rng: np.random.Generator) -> Draft | None:
        """The parent with another value in each of its slots that has one."""
        assert parent.frame is not None  # noqa: S101 (for the type checker; labelled rows only)
        text, slots, end, changed = "", [], 0, False
        for slot in parent.frame.slots:
            others = [value for value in self._values.get((slot.name, parent.language), ()) if value != slot.value]
            value = others[int(rng.integers(len(others)))] if others else slot.value
            changed |= value != slot.value
            text += parent.text[end : slot.start]
            slots.append(Slot(name=slot.name, value=value, start=len(text), end=len(text) + len(value)))
            text, end = text + value, slot.end
        frame = Frame(intent=parent.frame.intent, slots=tuple(slots))
        return Draft(text + parent.text[end:], frame, parent.id) if changed else None


def _phrased(task: TaskSchema, order: SynthesisOrder) -> list[Draft]:
    """Phrasings of the documents in the order's language; a slot is marked where an example value of it stands."""
    drafts = []
    for phrasing in task.phrasings:
        if language_of(phrasing) != order.language:
            continue
        found = {slot.name: value for slot in task.slots if (value := _example_in(phrasing, slot))}
        if order.slot != WHOLE_INTENT and order.slot not in found:
            continue
        try:
            frame = Frame.from_values(phrasing, task.intent, found)
        except ValueError:  # two examples that overlap: neither is sure
            continue
        drafts.append(Draft(phrasing, frame, f"task:{task.id}"))
    return drafts


def _example_in(text: str, slot: SlotSpec) -> str | None:
    """The longest example value of a slot that stands in a text."""
    return max((value for value in slot.values if value and value in text), key=len, default=None)


def _values_by_slot(catalog: TaskCatalog, rows: Sequence[Utterance]) -> dict[tuple[str, str], list[str]]:
    """(slot, language) -> values seen in labelled rows and given as examples, sorted, each once."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for slot in row.frame.slots if row.frame else ():
            found.setdefault((slot.name, row.language), set()).add(slot.value)
    for task in catalog.tasks:
        for spec in task.slots:
            for value in spec.values:
                found.setdefault((spec.name, language_of(value)), set()).add(value)
    return {key: sorted(values) for key, values in found.items()}


def _has(row: Utterance, slot: str) -> bool:
    return slot == WHOLE_INTENT or (row.frame is not None and slot in row.frame.values)
