"""What is missing: squares of the coverage map with too few labelled rows, and pairs of intents that are hard to tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kickwheel.probe import Probe
from kickwheel.seeding.coverage import WHOLE_INTENT, coverage
from schemas.frame import OUT_OF_SCOPE
from schemas.synthesis import SynthesisOrder
from schemas.task import TaskCatalog
from schemas.utterance import Utterance

BOUNDARY_PAIRS = 3
"""Pairs of intents for which boundary rows are written in a lap: those that the probe is most often torn between."""
_TORN = 0.2
"""Lead of the likeliest intent over the next below which the probe is torn between the two."""


def cold_orders(
    labelled: Sequence[Utterance], catalog: TaskCatalog, languages: Sequence[str], rows: int
) -> list[SynthesisOrder]:
    """Orders for intents without a single labelled row: ``rows`` of each in each language, and of each of its slots."""
    known = {row.frame.intent for row in labelled if row.frame is not None}
    return [order for order in _thin(labelled, catalog, languages, rows, "no_rows") if order.intent not in known]


def thin_orders(
    labelled: Sequence[Utterance], catalog: TaskCatalog, languages: Sequence[str], rows: int
) -> list[SynthesisOrder]:
    """Orders for the squares with fewer than ``rows`` rows, of intents that have some."""
    known = {row.frame.intent for row in labelled if row.frame is not None}
    return [order for order in _thin(labelled, catalog, languages, rows, "few_rows") if order.intent in known]


def boundary_orders(
    labelled: Sequence[Utterance], probe: Probe, pool: Sequence[Utterance], languages: Sequence[str], rows: int
) -> list[SynthesisOrder]:
    """Orders on both sides of the boundaries on which most pool rows lie; out-of-scope is a rival, never ordered."""
    if len(probe.classes) < 2 or not pool:
        return []
    table = probe.probabilities([row.text for row in pool])
    first, second = np.argsort(-table, axis=1)[:, :2].T
    at = np.arange(len(table))
    torn = table[at, first] - table[at, second] < _TORN
    pairs = Counter(tuple(sorted((probe.classes[a], probe.classes[b]))) for a, b in zip(first[torn], second[torn], strict=True))
    counts: Counter[tuple[str, str]] = Counter((row.frame.intent, row.language) for row in labelled if row.frame is not None)
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:BOUNDARY_PAIRS]
    return [
        SynthesisOrder(
            reason="boundary",
            intent=intent,
            slot=WHOLE_INTENT,
            language=language,
            rival=rival,
            labelled=counts[intent, language],
            wanted=rows,
        )
        for pair, _ in ranked
        for intent, rival in (pair, pair[::-1])
        if intent != OUT_OF_SCOPE
        for language in languages
    ]


def _thin(
    labelled: Sequence[Utterance], catalog: TaskCatalog, languages: Sequence[str], rows: int, reason: str
) -> list[SynthesisOrder]:
    """Slots stand before their intent: what is kept for them counts towards it."""
    cells = [cell for cell in coverage(labelled, catalog, languages=languages) if cell.intent in catalog.intents]
    found: dict[tuple[str, str], list[SynthesisOrder]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.intent, cell.language, cell.slot == WHOLE_INTENT, cell.slot)):
        if cell.slot != WHOLE_INTENT and cell.slot not in {slot.name for slot in catalog.slots_of(cell.intent)}:
            continue
        here = found.setdefault((cell.intent, cell.language), [])
        missing = rows - cell.rows
        if missing > 0 and cell.language in languages:
            here.append(
                SynthesisOrder.model_validate(
                    {
                        "reason": reason,
                        "intent": cell.intent,
                        "slot": cell.slot,
                        "language": cell.language,
                        "labelled": cell.rows,
                        "wanted": missing,
                    }
                )
            )
    return [order for orders in found.values() for order in orders]
