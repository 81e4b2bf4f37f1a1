"""Group commit: one thread writes what many callers hand over, one transaction for all that waits.

A commit costs a wait for the disk, whatever it holds. So callers queue while one is under way and share the next: a single post
needs no more than two commits' time, and a hundred posts a second do not need a hundred waits.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from kickwheel.errors import KickwheelError, RateLimited, ServiceUnavailable
from kickwheel.feedback.ports import EventStore, Submission
from schemas.events import Event, InferenceRecord, Received

LOG = logging.getLogger(__name__)


class GroupCommitWriter:
    """Hands submissions to a store, many in one transaction. Acknowledged is durable: a future is done after the commit.

    Args:
        store: closed by whoever opened it, after the writer.
        max_rows: Most rows of one transaction.
        gather_s: How long a transaction waits for company: a commit costs this process as much as ten rows.
        max_waiting: Rows that may wait; beyond, callers are told to come back.
    """

    def __init__(self, store: EventStore, *, max_rows: int = 1000, max_waiting: int = 20_000, gather_s: float = 0.02):
        self.store = store
        self._gather_s = gather_s
        self._max_rows, self._max_waiting = max_rows, max_waiting
        self._queue: deque[tuple[Submission, Future[Received]]] = deque()
        self._waiting = 0
        self._closing = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="feedback-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Rows that are not on disk yet."""
        return self._waiting

    def submit(self, inferences: Sequence[InferenceRecord] = (), events: Sequence[Event] = ()) -> Future[Received]:
        """Queue it; the future holds the receipt once all of it is durable, or the store's error.

        Raises:
            RateLimited: too much is waiting; nothing was taken.
            ServiceUnavailable: the writer is closed.
        """
        submission, receipt = Submission(tuple(inferences), tuple(events)), Future[Received]()
        with self._wake:
            if self._closing:
                raise ServiceUnavailable("the event writer is closed")
            if self._waiting and self._waiting + len(submission) > self._max_waiting:
                raise RateLimited(f"{self._waiting} events wait to be written", retry_after=1.0)
            self._queue.append((submission, receipt))
            self._waiting += len(submission)
            # A writer that gathers is not woken for each row: it would fight the callers for the interpreter.
            if len(self._queue) == 1 or self._waiting >= self._max_rows:
                self._wake.notify()
        return receipt

    async def add(self, inferences: Sequence[InferenceRecord] = (), events: Sequence[Event] = ()) -> Received:
        """As :meth:`submit`, for a coroutine: returns when all of it is durable."""
        return await asyncio.wrap_future(self.submit(inferences, events))

    def close(self, timeout_s: float = 30.0) -> None:
        """Write what waits, then stop. Again: nothing."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _run(self) -> None:
        while group := self._next_group():
            submissions = [submission for submission, _ in group]
            try:
                receipts = self.store.add(submissions)
            except KickwheelError as error:
                LOG.warning("events could not be written: %s", error)
                self._fail(group, error)
            except Exception as error:  # a caller must never wait for ever on a writer that died
                LOG.exception("events could not be written")
                self._fail(group, error)
            else:
                for (_, receipt), value in zip(group, receipts, strict=True):
                    _settle(receipt, value)
            with self._wake:
                self._waiting -= sum(len(submission) for submission in submissions)

    def _next_group(self) -> list[tuple[Submission, Future[Received]]]:
        """What waits, up to the size of a transaction; empty when closed and nothing is left."""
        with self._wake:
            while not self._queue and not self._closing:
                self._wake.wait()
            until = time.monotonic() + self._gather_s
            while not self._closing and self._waiting < self._max_rows and (left := until - time.monotonic()) > 0:
                self._wake.wait(left)
            group: list[tuple[Submission, Future[Received]]] = []
            rows = 0
            while self._queue and (not group or rows + len(self._queue[0][0]) <= self._max_rows):
                group.append(self._queue.popleft())
                rows += len(group[-1][0])
            return group

    @staticmethod
    def _fail(group: Sequence[tuple[Submission, Future[Received]]], error: Exception) -> None:
        for _, receipt in group:
            if receipt.set_running_or_notify_cancel():
                receipt.set_exception(error)


def _settle(receipt: Future[Received], value: Received) -> None:
    if receipt.set_running_or_notify_cancel():
        receipt.set_result(value)
