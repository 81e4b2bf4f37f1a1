"""A student in this process: what comes while it works is its next batch, and each caller gets its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from kickwheel.serving.batching_adapter import BatchedStudent
from schemas.frame import Frame, Prediction


class Counting:
    """Says each text's own name back; the first batch waits until it may go on."""

    name = "counting"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go_on = threading.Event()
        self.started = threading.Event()

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        self.batches.append(list(texts))
        self.started.set()
        if len(self.batches) == 1:
            assert self.go_on.wait(10)
        if "bad" in texts:
            raise ZeroDivisionError("bad text")
        return [Prediction(frame=Frame(intent="said"), raw=text) for text in texts]


def test_what_waits_is_the_next_batch_up_to_its_size() -> None:
    student = Counting()

    async def scenario() -> list[Prediction]:
        batched = BatchedStudent(student, most=4)
        first = asyncio.create_task(batched.understand("0"))
        await asyncio.to_thread(student.started.wait, 10)
        rest = [asyncio.create_task(batched.understand(str(n))) for n in range(1, 8)]
        gone = rest.pop(0)
        await asyncio.sleep(0)
        gone.cancel()
        student.go_on.set()
        found = await asyncio.gather(first, *rest)
        await batched.close()
        return found

    found = asyncio.run(scenario())
    assert [prediction.raw for prediction in found] == ["0", "2", "3", "4", "5", "6", "7"]
    assert student.batches == [["0"], ["2", "3", "4"], ["5", "6", "7"]]


def test_an_error_reaches_those_of_its_batch_and_the_next_goes_on() -> None:
    student = Counting()
    student.go_on.set()

    async def scenario() -> None:
        batched = BatchedStudent(student)
        with pytest.raises(ZeroDivisionError):
            await batched.understand("bad")
        assert (await batched.understand("good")).raw == "good"
        await batched.close()

    asyncio.run(scenario())
