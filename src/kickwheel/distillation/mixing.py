"""What a distillation trains with: the champion's plan at a lower rate, and old rows mixed in against forgetting."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kickwheel.settings import DistillationSettings
from schemas.feedback import DistillationRow
from schemas.tuning import LoraPlan
from schemas.utterance import Provenance, Utterance, language_of


def distillation_plan(champion: LoraPlan, settings: DistillationSettings) -> LoraPlan:
    """The champion's LoRA shape and seed, with the rate and the token budget of distillation.

    The budget counts every token that goes through the model: all candidates of a case, and the replayed rows.
    """
    return champion.model_copy(update={"learning_rate": settings.learning_rate, "max_tokens": settings.max_tokens})


def replayed_rows(old: Sequence[Utterance], cases: int, share: float, seed: int) -> list[Utterance]:
    """Labelled old rows to mix in, so that they are ``share`` of all items: as many as there are, each at most once."""
    labelled = [row for row in old if row.frame is not None]
    wanted = min(round(cases * share / (1 - share)), len(labelled))
    return random.Random(seed).sample(labelled, wanted)  # noqa: S311 - a reproducible draw


LEAST_TARGET = 0.02
"""Candidates below this share of the target are left out of weighted rows: they would only cost time."""


def weighted_rows(row: DistillationRow) -> list[tuple[Utterance, float]]:
    """A case as labelled rows with weights, for students that are fitted and not trained by steps.

    Cross-entropy with a soft target is the sum of the cross-entropies of its candidates, weighted by the target: the same loss
    as KL at temperature 1, but for a constant. The case's own weight is that of its evidence.
    """
    return [
        (
            Utterance(
                id=f"{row.case}-{number}",
                text=row.text,
                language=language_of(row.text),
                frame=candidate.frame,
                provenance=Provenance(source="distilled"),
            ),
            row.weight * candidate.target,
        )
        for number, candidate in enumerate(row.candidates)
        if candidate.target >= LEAST_TARGET
    ]
