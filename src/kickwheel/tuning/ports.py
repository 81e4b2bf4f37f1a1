"""What the stages need of a trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from schemas.tuning import LoraPlan, LossPoint
from schemas.utterance import Utterance

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


@dataclass(frozen=True)
class TrainedAdapter:
    """An adapter folder, complete on disk, and how it came about."""

    folder: Path
    losses: tuple[LossPoint, ...]
    trained_tokens: int
    """Non-padding tokens that went through forward and backward."""
    seconds: float
    """Training alone, without loading the model; a resumed training counts what it did before, too."""
    reasons: tuple[str, ...] = ()
    """Why so many steps, this warm-up, this decay, and what was left out."""


class LoraTrainer(Protocol):
    """Trains a LoRA adapter on labelled rows."""

    def train(
        self,
        rows: Sequence[Utterance],
        plan: LoraPlan,
        *,
        base_path: Path,
        out: Path,
        parent: Path | None = None,
        progress: Progress | None = None,
    ) -> TrainedAdapter:
        """Train on ``rows`` and write the adapter to ``out``, which appears whole or not at all.

        Starts from the base, or goes on training the adapter in ``parent``. Called again after a kill it takes up the
        last checkpoint; called again with the same rows and plan after it finished it trains nothing.

        Raises:
            StageFailed: nothing to train on, a budget below one batch, a parent that does not fit the plan, a loss that is no
                number.
        """
        ...
