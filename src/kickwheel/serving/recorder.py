"""Inference records on their way to the store: no answer waits for a disk.

Records gather for :data:`GATHER_S` and are handed over together. What a ``kill -9`` can lose is what has not been written by
then: the records of the last tenth of a second or so, more only while the store does not answer. Feedback about a lost record
stays in the store as feedback about an unknown inference.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from concurrent.futures import Future

from kickwheel.errors import KickwheelError
from kickwheel.serving.ports import RecordWriter
from schemas.events import InferenceRecord, Received

LOG = logging.getLogger(__name__)

GATHER_S = 0.05
"""A commit a request would cost this process more than the request."""

RETRY_S = 1.0
"""After the store refused or failed."""


class InferenceRecorder:
    """Takes records from the event loop and gives them to a writer. For one event loop.

    Args:
        most: records that may wait; more are dropped and counted.
    """

    def __init__(self, writer: RecordWriter | None, *, most: int = 50_000):
        self._writer, self._most = writer, most
        self._gathered: deque[InferenceRecord] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.lost = 0
        """Records that were dropped."""
        self.written = 0
        """Records that are durable."""
        self._handed = 0

    @property
    def unwritten(self) -> int:
        """Records that are not durable yet."""
        return len(self._gathered) + self._handed

    def put(self, record: InferenceRecord) -> None:
        """Take a record; returns at once. Without a writer nothing is kept."""
        if self._writer is None:
            return
        if self.unwritten >= self._most:
            self.lost += 1
            return
        self._gathered.append(record)
        self._hand_over_in(GATHER_S)

    async def close(self, timeout_s: float = 10.0) -> None:
        """Hand over what is left and wait until it is durable, or the time is over."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._hand_over()
        while self.unwritten and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        if self._timer is not None:
            self._timer.cancel()
        if self.unwritten:
            LOG.error("%d inference records could not be written before the end", self.unwritten)

    def _hand_over_in(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._hand_over)

    def _hand_over(self) -> None:
        self._timer = None
        if not self._gathered or self._writer is None:
            return
        batch = tuple(self._gathered)
        loop = asyncio.get_running_loop()
        try:
            receipt = self._writer.submit(inferences=batch)
        except KickwheelError as error:
            LOG.warning("inference records wait: %s", error)
            self._hand_over_in(RETRY_S)
            return
        self._gathered.clear()
        self._handed += len(batch)
        receipt.add_done_callback(lambda done: loop.call_soon_threadsafe(self._settle, batch, done))

    def _settle(self, batch: tuple[InferenceRecord, ...], done: Future[Received]) -> None:
        self._handed -= len(batch)
        if done.cancelled() or done.exception() is not None:
            self._gathered.extendleft(reversed(batch))
            self._hand_over_in(RETRY_S)
        else:
            self.written += len(batch)
