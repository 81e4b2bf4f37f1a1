"""The pool as acquisition sees it, scored by the probe: chunk by chunk, so that a million rows fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kickwheel.embedding import Embedder
from kickwheel.probe import Probe
from kickwheel.seeding.acquisition import Candidates, survey
from kickwheel.settings import SeedingSettings
from schemas.utterance import Utterance

CHUNK = 8_192
"""Rows scored at a time: 5 MB of probabilities at 77 intents."""


def probed_pool(
    probe: Probe,
    pool: Sequence[Utterance],
    labelled: Sequence[Utterance],
    *,
    settings: SeedingSettings,
    embedder: Embedder | None = None,
    chunk: int = CHUNK,
) -> Candidates:
    """Candidates of ``pool``; slots are scored only where the strategy looks at them, for they cost far more than intents."""
    texts = [row.text for row in pool]
    chunks = [texts[start : start + chunk] for start in range(0, len(texts), chunk)]
    found = survey(map(probe.probabilities, chunks))
    spans = None
    if settings.strategy == "slots":
        intents = [probe.classes[k] for k in found.predicted]
        starts = range(0, len(texts), chunk)
        parts = [probe.span_uncertainty(part, intents[at : at + chunk]) for part, at in zip(chunks, starts, strict=True)]
        spans = np.concatenate([np.empty(0), *parts])
    return Candidates(
        ids=[row.id for row in pool],
        entropy=found.entropy,
        margin=found.margin,
        predicted=found.predicted,
        intents=probe.classes,
        spans=spans,
        embed=None if embedder is None else lambda positions: embedder.embed([texts[i] for i in positions]),
        labelled=Counter(row.frame.intent for row in labelled if row.frame is not None),
    )
