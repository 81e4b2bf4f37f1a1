"""What feedback needs of a place that keeps events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from schemas.events import Erased, Event, InferenceRecord, Received, StoreStatus


@dataclass(frozen=True)
class Submission:
    """What one caller hands over at once."""

    inferences: tuple[InferenceRecord, ...] = ()
    events: tuple[Event, ...] = ()

    def __len__(self) -> int:
        return len(self.inferences) + len(self.events)


@dataclass(frozen=True)
class Kept:
    """An event as it is kept. ``sequence`` numbers changes in the order in which they became visible."""

    event: Event
    sequence: int


@dataclass(frozen=True)
class Exchange:
    """An answer and what came back about it. ``events`` are in no promised order."""

    record: InferenceRecord
    case: str
    """Key of the text: see :func:`kickwheel.spellings.case_key`."""
    sequence: int
    """Of the record."""
    events: tuple[Kept, ...] = ()


class EventStore(Protocol):
    """Keeps inference records and events. Safe to use from several threads and processes.

    Every method raises ServiceUnavailable (the database can't be reached or is locked: try again) or StoreFailed.
    """

    def add(self, submissions: Sequence[Submission]) -> list[Received]:
        """Keep all of it in one transaction; it is durable when this returns. One receipt a submission.

        What was there before, by id, is left as it is and counted as a duplicate.
        """
        ...

    def sequence(self) -> int:
        """Number of the last change: whatever is added later has a higher one."""
        ...

    def identity(self) -> int:
        """Tells this store from another, or from one that was emptied and made anew: a cursor holds for one store."""
        ...

    def exchanges(
        self,
        *,
        cases: Sequence[str] | None = None,
        inference_ids: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        until: int | None = None,
    ) -> list[Exchange]:
        """Answers with their events, oldest first: all, or those that match any of what is given; as it was at ``until``."""
        ...

    def session_events(self, sessions: Sequence[str]) -> list[Kept]:
        """Events about sessions as a whole."""
        ...

    def status(self) -> StoreStatus:
        """How much it holds."""
        ...

    def everything(self) -> Iterator[InferenceRecord | Event]:
        """All records and events in the order of their arrival."""
        ...

    def erase(self, user: str, *, dry_run: bool = False) -> Erased:
        """Remove a user's answers and events, and others' events about those answers. The bytes too, where the database can."""
        ...

    def prune(self, before: datetime, *, dry_run: bool = False) -> Erased:
        """Remove answers that are older, with the events about them, and older events whose answer is not known."""
        ...

    def close(self) -> None:
        """Give connections back."""
        ...
