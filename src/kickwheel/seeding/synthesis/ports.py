"""What synthesis needs of whoever writes rows, and what is handed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from schemas.frame import Frame
from schemas.synthesis import SynthesisOrder


@dataclass(frozen=True)
class Draft:
    """A row as it was written, not checked yet.

    Args:
        parent: id of the labelled row that it was made from, else of the task.
        error: why there is no frame: one of the errors of replies (:mod:`kickwheel.inference.frame_codec`).
        model: served name of the model that wrote it; empty: no model did.
    """

    text: str
    frame: Frame | None
    parent: str
    error: str = ""
    model: str = ""
    prompt_sha256: str | None = None


class Writer(Protocol):
    """Writes rows for an order."""

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    def write(self, order: SynthesisOrder) -> Sequence[Draft]:
        """Drafts for an order, in a fixed order under a fixed seed; more or fewer than wanted.

        Raises:
            BudgetSpent: the writer costs money and there is none left.
        """
        ...
