"""The pool as acquisition sees it, scored by the probe or by the served student: chunk by chunk, so that a million rows fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from kickwheel.embedding import Embedder
from kickwheel.probe import Probe
from kickwheel.seeding.acquisition import Candidates, survey
from kickwheel.seeding.acquisition.uncertainty import Table
from kickwheel.settings import SeedingSettings
from schemas.utterance import Utterance


class IntentScorer(Protocol):
    """Whoever has probabilities of intents."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The intents, in the order of the columns."""
        ...

    def probabilities(self, texts: Sequence[str]) -> Table:
        """(texts, classes), rows sum to 1."""
        ...


CHUNK = 8_192
"""Rows scored at a time: 5 MB of probabilities at 77 intents."""


def probed_pool(
    probe: Probe,
    pool: Sequence[Utterance],
    labelled: Sequence[Utterance],
    *,
    settings: SeedingSettings,
    embedder: Embedder | None = None,
    scorer: IntentScorer | None = None,
    chunk: int = CHUNK,
) -> Candidates:
    """Candidates of ``pool``, their intents scored by ``scorer`` (None: the probe). Slots are the probe's to score; they are
    scored only where the strategy looks at them, for they cost far more than intents."""
    intents_of: IntentScorer = scorer or probe
    texts = [row.text for row in pool]
    chunks = [texts[start : start + chunk] for start in range(0, len(texts), chunk)]
    found = survey(map(intents_of.probabilities, chunks))
    spans = None
    if settings.strategy == "slots":
        intents = [intents_of.classes[k] for k in found.predicted]
        starts = range(0, len(texts), chunk)
        parts = [probe.span_uncertainty(part, intents[at : at + chunk]) for part, at in zip(chunks, starts, strict=True)]
        spans = np.concatenate([np.empty(0), *parts])
    return Candidates(
        ids=[row.id for row in pool],
        entropy=found.entropy,
        margin=found.margin,
        predicted=found.predicted,
        intents=intents_of.classes,
        spans=spans,
        embed=None if embedder is None else lambda positions: embedder.embed([texts[i] for i in positions]),
        labelled=Counter(row.frame.intent for row in labelled if row.frame is not None),
    )
