"""Rows that wait for a person, and the answers that settle them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from kickwheel.errors import InputError
from kickwheel.workspace import append_durably, read_log
from schemas.base import Contract, Rate
from schemas.frame import Frame
from schemas.utterance import Provenance, Utterance

NO_TEACHER = "no teacher"


class ReviewItem(Contract):
    """One row of the queue: what a person needs to settle it."""

    id: str
    text: str
    language: Literal["en", "zh"]
    suggestion: Frame | None = Field(default=None, description="The teacher's frame; None: it gave none")
    intent_confidence: float | None = Field(default=None, description="The teacher's in the intent; None: not known")
    slot_confidence: dict[str, float] = Field(default_factory=dict, description="The teacher's in slots, where it is known")
    reasons: tuple[str, ...] = Field(description="Failed checks, the teacher's typed error, or 'no teacher'")
    probe_confidence: Rate
    round: int = Field(ge=1)


class ReviewQueue:
    """Append-only file of items. Adding the same items again changes nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def items(self) -> list[ReviewItem]:
        """Items in the order in which they came."""
        return read_log(self._path, ReviewItem)

    def add(self, items: Sequence[ReviewItem]) -> None:
        """Append the items that are not there yet."""
        known = {item.model_dump_json() for item in self.items()}
        append_durably(self._path, [item for item in items if item.model_dump_json() not in known])


def settle(items: Sequence[ReviewItem], answers: Mapping[str, Utterance]) -> tuple[list[Utterance], list[ReviewItem]]:
    """Labelled rows of the items that a reviewer answered, and the items that still wait.

    Raises:
        InputError: an answer belongs to another text than the item's: ids were mixed up.
    """
    settled: list[Utterance] = []
    waiting: list[ReviewItem] = []
    for item in items:
        answer = answers.get(item.id)
        if answer is None or answer.frame is None:
            waiting.append(item)
            continue
        if answer.text != item.text:
            raise InputError(
                f"the reviewer's answer {item.id!r} belongs to the text {answer.text!r}, the row says {item.text!r}",
                field="text",
            )
        source = Provenance(source="reviewer", round=item.round)
        settled.append(Utterance(id=item.id, text=item.text, language=item.language, frame=answer.frame, provenance=source))
    return settled, waiting
