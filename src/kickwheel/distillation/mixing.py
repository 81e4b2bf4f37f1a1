"""What a distillation trains with: the champion's plan at a lower rate, and old rows mixed in against forgetting."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kickwheel.settings import DistillationSettings
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance


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
