"""The students that the label benchmark trains: a probe on frozen vectors, and an encoder that the probe teaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kickwheel.probe.embedding_probe import EmbeddingProbe, SelfTraining
from kickwheel.seeding.acquisition import Candidates, select, survey
from kickwheel.tuning.encoder import EncoderPlan, EncoderTrainer, Head, IntentModel, SoftRows

Vectors = NDArray[np.float32]
ROUNDS = 5


@dataclass(frozen=True)
class Pool:
    """Training rows without their labels.

    Args:
        vectors: of the texts.
        names: the intents' names as texts, which the task schemas give; no label.
    """

    texts: Sequence[str]
    vectors: Vectors
    intents: Sequence[str]
    names: Sequence[str]
    name_vectors: Vectors

    def rest(self, labelled: dict[int, str]) -> NDArray[np.intp]:
        """Rows that nobody has labelled."""
        return np.array([row for row in range(len(self.texts)) if row not in labelled], dtype=np.intp)


def fit_probe(pool: Pool, labelled: dict[int, str], plan: SelfTraining) -> EmbeddingProbe:
    """The probe on the labels, on the names of the intents, and on the pool rows that it is sure of."""
    column = {intent: k for k, intent in enumerate(pool.intents)}
    rows = list(labelled)
    return EmbeddingProbe.fit(
        np.concatenate([pool.vectors[rows], pool.name_vectors]),
        [*(column[labelled[row]] for row in rows), *range(len(pool.intents))],
        count=len(pool.intents),
        unlabelled=pool.vectors[pool.rest(labelled)],
        plan=plan,
    )


def acquire(
    pool: Pool, labelled: dict[int, str], k: int, probe: EmbeddingProbe, *, strategy: str, entropy_weight: float, seed: int
) -> list[int]:
    """The next ``k`` rows to label, by the product's own selection."""
    rest = pool.rest(labelled)
    found = survey([probe.probabilities(pool.vectors[rest])])
    counts: dict[str, int] = {}
    for intent in labelled.values():
        counts[intent] = counts.get(intent, 0) + 1
    candidates = Candidates(
        ids=[f"{row:07d}" for row in rest],
        entropy=found.entropy,
        margin=found.margin,
        predicted=found.predicted,
        intents=pool.intents,
        embed=lambda positions: pool.vectors[rest[positions]],
        labelled=counts,
    )
    rng = np.random.default_rng([seed, len(labelled)])
    return [int(row) for row in select(candidates, k, strategy=strategy, entropy_weight=entropy_weight, rng=rng)]


def fit_encoder(
    pool: Pool,
    labelled: dict[int, str],
    probe: EmbeddingProbe,
    trainer: EncoderTrainer,
    plan: EncoderPlan,
    *,
    base: Path,
    progress: Callable[[int, int], None],
) -> IntentModel:
    """The encoder, fine-tuned on the labels, the names, and what the probe believes of the other rows; its head starts as
    the probe."""
    column = {intent: k for k, intent in enumerate(pool.intents)}
    rest = pool.rest(labelled)
    rows = SoftRows.of(
        [*(pool.texts[row] for row in labelled), *pool.names],
        [*(column[intent] for intent in labelled.values()), *range(len(pool.intents))],
        len(pool.intents),
        [pool.texts[row] for row in rest],
        probe.probabilities(pool.vectors[rest]),
    )
    return trainer.train(rows, plan, base=base, head=Head(probe.weights, probe.biases), progress=progress)
