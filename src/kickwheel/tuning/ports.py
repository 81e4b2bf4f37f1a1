"""What the stages need of a trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from schemas.task import TaskCatalog
from schemas.training import GuardEvent, GuardPlan, RobustPlan
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
    events: tuple[GuardEvent, ...] = ()
    """What the convergence guard saw."""
    validation: tuple[tuple[int, float], ...] = ()
    """Step and validation loss, where the guard looked at it."""


@dataclass(frozen=True)
class Surroundings:
    """What a training may look at beside its rows.

    Args:
        valid: rows that the guard watches the loss on; none: it watches gradients alone.
        pool: unlabelled texts, for self-training and for which words are common.
        train_sha256: hash of the file of the rows, for the artifact's record.
        base_licence: of the base, for the same.
    """

    catalog: TaskCatalog | None = None
    valid: Sequence[Utterance] = ()
    pool: Sequence[str] = ()
    robust: RobustPlan = RobustPlan()  # noqa: RUF009 - frozen
    guard: GuardPlan = GuardPlan()  # noqa: RUF009 - frozen
    train_sha256: str = "0" * 64
    base_licence: str = "unknown"


PlanT = TypeVar("PlanT", contravariant=True)


class StudentTrainer(Protocol[PlanT]):
    """Trains a student on labelled rows: causal by a ``LoraPlan``, encoder by an ``EncoderStudentPlan``."""

    def train(
        self,
        rows: Sequence[Utterance],
        plan: PlanT,
        *,
        base_path: Path,
        out: Path,
        parent: Path | None = None,
        progress: Progress | None = None,
        around: Surroundings = Surroundings(),
    ) -> TrainedAdapter:
        """Train on ``rows`` and write the artifact to ``out``, which appears whole or not at all.

        Starts from the base, or goes on training the adapter in ``parent``. Called again after a kill it takes up the
        last checkpoint; called again with the same rows and plan after it finished it trains nothing.

        Raises:
            StageFailed: nothing to train on, a budget below one batch, a parent that does not fit the plan, a loss that is no
                number.
        """
        ...


LoraTrainer = StudentTrainer[LoraPlan]
"""The trainer of the causal student, whose adapters vLLM serves."""
