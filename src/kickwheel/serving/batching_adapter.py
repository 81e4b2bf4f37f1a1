"""A student in this process, asked in batches: what arrives while it works is its next batch, so nobody waits for a timer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from kickwheel.inference.ports import Student
from schemas.frame import Prediction

Waiting = tuple[str, asyncio.Future[Prediction]]


class BatchedStudent:
    """A :class:`~kickwheel.serving.ports.LiveStudent` over a :class:`~kickwheel.inference.ports.Student`, on its own thread.

    Args:
        most: texts in a batch.
    """

    def __init__(self, student: Student, *, most: int = 16):
        self._student, self._most = student, most
        self._waiting: list[Waiting] = []
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"student-{student.name}")

    async def understand(self, text: str) -> Prediction:
        """A frame, or why there is none. What the student raises is raised to each caller of the batch."""
        answer: asyncio.Future[Prediction] = asyncio.get_running_loop().create_future()
        self._waiting.append((text, answer))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def close(self) -> None:
        """End the thread; who still waits gets an answer first."""
        if self._worker is not None:
            await self._worker
        self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            batch = [one for one in batch if not one[1].cancelled()]  # its caller has gone
            if not batch:
                continue
            try:
                found = await loop.run_in_executor(self._thread, self._predict, [text for text, _ in batch])
            except Exception as error:  # whatever it is, it belongs to those who asked
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
            else:
                for (_, answer), prediction in zip(batch, found, strict=True):
                    if not answer.done():
                        answer.set_result(prediction)

    def _predict(self, texts: Sequence[str]) -> list[Prediction]:
        from threadpoolctl import threadpool_limits

        # More BLAS threads than idle cores spin on such small matrices.
        with threadpool_limits(limits=1, user_api="blas"):
            return self._student.predict(texts)
