"""An encoder with a classification head as student: its plan, its rows, and what trains and answers.

It knows intents only. Where slots matter, the causal student (:mod:`kickwheel.tuning.ports`) does both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kickwheel.errors import StageFailed

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


@dataclass(frozen=True)
class EncoderPlan:
    """Settings of one fine-tuning.

    The rates, the batch and the share of labelled rows were tried on an H200 with 770 labels of BANKING77; see
    docs/benchmarks.md.

    Args:
        epochs: passes over the unlabelled rows, or over the labelled ones where there are no others.
        max_steps: fewer passes where they would take more steps than these; 0: no limit.
        head_rate: the head learns this many times faster than the encoder.
        labelled_share: of each batch, while there are unlabelled rows.
        max_tokens: of a text; the rest is not read.
        frozen_words: whether the word vectors stay as they are: half of a small encoder's weights, and most of a step's cost
            beside its matrix products.
        frozen_layers: of the lowest layers, stay as they are.
        lora_rank: 0 trains the whole encoder; else LoRA matrices of this rank on the attention.
    """

    epochs: float = 8.0
    max_steps: int = 0
    learning_rate: float = 2e-4
    head_rate: float = 10.0
    batch_size: int = 64
    labelled_share: float = 0.25
    max_tokens: int = 48
    warmup_share: float = 0.1
    weight_decay: float = 0.01
    frozen_words: bool = True
    frozen_layers: int = 0
    lora_rank: int = 0
    seed: int = 0


@dataclass(frozen=True)
class SoftRows:
    """Rows to learn from, human labels and a teacher's beliefs alike.

    Args:
        targets: (rows, intents), each row a distribution.
        weights: (rows,), of a row in the loss; rows of weight 0 are left out.
        labelled: (rows,), whether a person gave the label.

    Raises:
        StageFailed: lengths differ, a number is none, or no row has weight.
    """

    texts: Sequence[str]
    targets: NDArray[np.float32]
    weights: NDArray[np.float32]
    labelled: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if not len(self.texts) == len(self.targets) == len(self.weights) == len(self.labelled):
            raise StageFailed("an encoder needs one target, one weight and one mark a row")
        if not (np.isfinite(self.targets).all() and np.isfinite(self.weights).all()):
            raise StageFailed("targets or weights of an encoder's rows hold values that are no numbers: the teacher is broken")
        if not (self.weights > 0).any():
            raise StageFailed("an encoder needs at least one row of weight above 0, and there is none")

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        intents: Sequence[int],
        count: int,
        unlabelled: Sequence[str],
        beliefs: NDArray[np.float64],
        *,
        sharpness: float = 2.0,
    ) -> SoftRows:
        """Labelled rows at weight 1, and unlabelled ones with a teacher's sharpened beliefs, weighted by the likeliest.

        Args:
            beliefs: (unlabelled, intents) probabilities.
            sharpness: power to which they are raised; 1 leaves them as they are.
        """
        soft = beliefs**sharpness
        soft = soft / soft.sum(axis=1, keepdims=True) if len(soft) else soft.reshape(0, count)
        targets = np.concatenate([np.eye(count)[np.asarray(intents, dtype=np.intp)], soft]).astype(np.float32)
        weights = np.concatenate([np.ones(len(texts)), soft.max(axis=1) if len(soft) else np.empty(0)]).astype(np.float32)
        return cls([*texts, *unlabelled], targets, weights, np.arange(len(weights)) < len(texts))


@dataclass(frozen=True)
class Head:
    """Where the head starts: weights (width, intents) and biases, of a linear model on the encoder's own vectors."""

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]


class IntentModel(Protocol):
    """Answers with intents."""

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(texts, intents), in order; rows sum to 1."""
        ...


class EncoderTrainer(Protocol):
    """Fine-tunes an encoder."""

    def train(
        self, rows: SoftRows, plan: EncoderPlan, *, base: Path, head: Head, progress: Progress | None = None
    ) -> IntentModel:
        """Train a copy of the encoder in ``base``; deterministic under ``plan.seed`` on one machine.

        Raises:
            StageFailed: the head is not as wide as the encoder, or a loss is no number.
        """
        ...
