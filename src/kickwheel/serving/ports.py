"""What the service needs: versions that answer, and somewhere to write down what they answered."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from schemas.events import InferenceRecord, Received
from schemas.frame import Prediction
from schemas.serving import ServedVersion


class LiveStudent(Protocol):
    """A version that is asked one text at a time, by many callers at once. For one event loop."""

    async def understand(self, text: str) -> Prediction:
        """A frame, or why there is none.

        Raises:
            ServiceError: there was no answer; of an in-process student also what it raises.
        """
        ...

    async def close(self) -> None:
        """Give back connections, threads and memory. Nobody asks any more."""
        ...


class StudentMaker(Protocol):
    """Makes students of versions."""

    async def make(self, version: ServedVersion) -> LiveStudent:
        """A student that is loaded, not yet warm.

        Raises:
            KickwheelError: it cannot be had, and why.
        """
        ...


class RecordWriter(Protocol):
    """Where answers are kept: :class:`kickwheel.feedback.writer_adapter.GroupCommitWriter` is one."""

    def submit(self, inferences: Sequence[InferenceRecord] = ()) -> Future[Received]:
        """Queue records and return at once; the future is done when they are durable, or holds why they are not.

        Raises:
            KickwheelError: nothing was taken.
        """
        ...
