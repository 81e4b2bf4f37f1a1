"""Records on their way to the store: gathered, handed over together, tried again, counted where they are lost."""

from __future__ import annotations

import asyncio

import pytest

from kickwheel.errors import RateLimited, ServiceUnavailable
from kickwheel.serving import recorder
from kickwheel.serving.recorder import InferenceRecorder
from schemas.events import InferenceRecord
from tests.unit.serving.serving_world import NOW, Written


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "RETRY_S", 0.02)


def record(number: int) -> InferenceRecord:
    return InferenceRecord(inference_id=f"i{number}", text="x", frame=None, model_version="old", at=NOW)


def run(written: Written, count: int, *, most: int = 50_000) -> InferenceRecorder:
    async def scenario() -> InferenceRecorder:
        made = InferenceRecorder(written, most=most)
        for number in range(count):
            made.put(record(number))
        await asyncio.sleep(0.1)
        await made.close()
        return made

    return asyncio.run(scenario())


def test_records_are_handed_over_together() -> None:
    written = Written()
    made = run(written, 100)
    assert [one.inference_id for one in written.records] == [f"i{number}" for number in range(100)]
    assert (written.batches, made.written, made.unwritten, made.lost) == (1, 100, 0, 0)


def test_what_the_store_refuses_or_fails_on_is_handed_over_again_in_order() -> None:
    written = Written(failures=[ServiceUnavailable("locked")] * 2, refusals=[RateLimited("full")])
    made = run(written, 10)
    assert [one.inference_id for one in written.records] == [f"i{number}" for number in range(10)]
    assert (made.written, made.unwritten) == (10, 0)


def test_more_than_may_wait_is_lost_and_counted() -> None:
    written = Written()
    assert run(written, 10, most=4).lost == 6
    assert len(written.records) == 4


def test_the_end_writes_what_is_left() -> None:
    written = Written()

    async def scenario() -> None:
        made = InferenceRecorder(written)
        made.put(record(1))
        await made.close()

    asyncio.run(scenario())
    assert len(written.records) == 1
