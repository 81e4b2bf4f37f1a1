"""What a recogniser makes of a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kickwheel.intent.time_reading import TimeReading
from schemas.task import RecogniserName, RejectionReason


@dataclass(frozen=True)
class Recognised:
    """One triple: action, entity, temporal constraint."""

    action: str
    entity: str
    """As the document writes it."""
    target: str | None
    """Slug of entity and destination; None: the glossary doesn't know one of them."""
    time: TimeReading
    flag: str | None = None
    by: RecogniserName = "rules"
    confidence: float | None = None
    """That this is the task meant; None: the recogniser can't tell."""


@dataclass(frozen=True)
class Suggestion:
    """What a model makes of a statement: a triple, in words that the rules map to just that triple."""

    triple: Recognised
    statement: str
    model: str


@dataclass(frozen=True)
class Refused:
    """No triple, and what would settle it."""

    reason: RejectionReason
    question: str
    suggestion: Suggestion | None = None
    confidence: float | None = None
    """That refusing is right; None: the recogniser can't tell."""
    about: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False)
    """Actions and entities that the words name, though no task was made of them: what may bound a task beside it."""


class Recogniser(Protocol):
    """Turns the text of one statement into triples. Never raises for what a text says: that is a :class:`Refused`."""

    def prepare(self, texts: Sequence[str]) -> None:
        """Hears which texts will come, so that one that asks a model can ask for many at once.

        Raises:
            ServiceError: the model does not answer.
        """
        ...

    def recognise(self, text: str) -> list[Recognised | Refused]:
        """At least one outcome.

        Raises:
            ServiceError: the model does not answer.
        """
        ...
