"""Labelled rows per intent, slot and language: the heat map that shows where the wheel is stuck (white paper F1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from schemas.frame import OUT_OF_SCOPE
from schemas.seeding import CoverageCell
from schemas.task import TaskCatalog
from schemas.utterance import Utterance

WHOLE_INTENT = "-"
"""Stands for the rows of an intent, whatever slots they have."""


def coverage(rows: Sequence[Utterance], catalog: TaskCatalog, *, languages: Sequence[str] = ()) -> tuple[CoverageCell, ...]:
    """Counts for every intent and slot of the catalogue and whatever else the rows hold, zeros included.

    Args:
        languages: languages to count even if no labelled row has them, e.g. those of the pool.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        if row.frame is not None:
            for slot in {WHOLE_INTENT, *row.frame.values}:
                counts[row.frame.intent, slot, row.language] += 1
    squares = [(intent, WHOLE_INTENT) for intent in (*catalog.intents, OUT_OF_SCOPE)]
    squares += [(task.intent, slot.name) for task in catalog.tasks for slot in task.slots]
    squares += [(intent, slot) for intent, slot, _ in counts]
    spoken = sorted({*languages, *(row.language for row in rows)})
    return tuple(
        CoverageCell(intent=intent, slot=slot, language=language, rows=counts[intent, slot, language])
        for intent, slot in sorted(set(squares))
        for language in spoken
    )
