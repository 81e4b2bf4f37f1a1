"""What a row counts for in the loss, and how far its label is believed: by who gave it, and whether the row is hard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.training import RobustPlan
from schemas.utterance import Utterance


def row_weights(rows: Sequence[Utterance], plan: RobustPlan) -> NDArray[np.float32]:
    """(rows,): weight of the label's source, times ``hard_weight`` where acquisition chose the row."""
    return np.array([_weight(row, plan) for row in rows], dtype=np.float32)


def smoothings(rows: Sequence[Utterance], plan: RobustPlan) -> NDArray[np.float32]:
    """(rows,): share of the target that is spread evenly over all intents."""
    return np.array(
        [plan.smoothing.get(row.provenance.source, 0.0) if row.provenance else 0.0 for row in rows], dtype=np.float32
    )


def is_hard(row: Utterance) -> bool:
    """Whether a round of acquisition chose the row, which it does for being uncertain; the seeds were there before."""
    return row.provenance is not None and row.provenance.round is not None and row.provenance.round >= 1


def smoothed(targets: NDArray[np.float32], shares: NDArray[np.float32]) -> NDArray[np.float32]:
    """Label smoothing (Szegedy et al. 2016): targets (rows, classes), of each row a share spread over all classes."""
    spread = shares[:, None]
    return np.asarray(targets * (1 - spread) + spread / targets.shape[1], dtype=np.float32)


def _weight(row: Utterance, plan: RobustPlan) -> float:
    source = plan.source_weights.get(row.provenance.source, 1.0) if row.provenance else 1.0
    return source * (plan.hard_weight if is_hard(row) else 1.0)
