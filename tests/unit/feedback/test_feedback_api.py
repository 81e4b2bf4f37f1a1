"""The routes for feedback, on a real application and store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from kickwheel.errors import RateLimited, ServiceUnavailable
from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.feedback.writer_adapter import GroupCommitWriter
from kickwheel.serving.feedback_api import feedback_router

AT = "2026-11-30T08:15:00+08:00"


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[GroupCommitWriter]:
    store = SqlEventStore(f"sqlite:///{tmp_path / 'events.sqlite3'}")
    with GroupCommitWriter(store) as opened:
        yield opened
    store.close()


def call(writer: GroupCommitWriter, method: str, path: str, **given: Any) -> httpx2.Response:
    import asyncio

    app = FastAPI()
    app.include_router(feedback_router(writer))

    async def send() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            return await client.request(method, path, **given)

    return asyncio.run(send())


def dwell(name: str, **given: Any) -> dict[str, Any]:
    return {"kind": "dwell", "event_id": name, "inference_id": "i1", "seconds": 9, "at": AT, **given}


def test_one_event_and_a_batch_are_taken_and_count_once(writer: GroupCommitWriter) -> None:
    assert call(writer, "POST", "/v1/feedback", json=dwell("e1")).json() == {"added": 1, "duplicates": 0, "differing": []}
    batch = {"events": [dwell("e1"), dwell("e2"), {"kind": "abandon", "event_id": "e3", "session": "s1", "at": AT}]}
    assert call(writer, "POST", "/v1/feedback", json=batch).json() == {"added": 2, "duplicates": 1, "differing": []}
    claimed = call(writer, "POST", "/v1/feedback", json=dwell("e4", received_at="1999-01-01T00:00:00Z"))
    assert claimed.status_code == 200
    assert all(event.received_at and event.received_at.year > 2000 for event in list(writer.store.everything()))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (dwell("e1", seconds=-1), "seconds"),
        (dwell("e1", at="2026-11-30T08:15:00"), "dwell"),
        ({"kind": "wink", "event_id": "e1"}, "body"),
        ({"events": []}, "events"),
        ({"events": [dwell("e1"), dwell("e2", seconds="long")]}, "seconds"),
        ([], "body"),
        (dwell("e\u0000"), "event_id"),
    ],
)
def test_what_does_not_hold_is_refused_and_nothing_is_kept(writer: GroupCommitWriter, body: Any, where: str) -> None:
    answer = call(writer, "POST", "/v1/feedback", json=body)
    assert answer.status_code == 422
    assert where in str(answer.json()["detail"][0]["loc"])
    assert writer.store.status().events == 0


def test_signals_are_there_as_soon_as_the_event_is(writer: GroupCommitWriter) -> None:
    assert call(writer, "GET", "/v1/signals", params={"inference_id": "i1"}).json()["cases"] == []
    assert call(writer, "GET", "/v1/signals").json()["cases"] == []
    from schemas.events import InferenceRecord
    from tests.contracts.event_samples import EVENTS

    first = next(item for item in EVENTS if isinstance(item, InferenceRecord)).model_copy(update={"inference_id": "i1"})
    writer.submit(inferences=[first]).result(30)
    call(writer, "POST", "/v1/feedback", json=dwell("e1"))
    (case,) = call(writer, "GET", "/v1/signals", params={"inference_id": "i1"}).json()["cases"]
    assert [(signal["rule"], signal["exposure"]["arm"]) for signal in case["signals"]] == [("dwell", "challenger")]
    (same,) = call(writer, "GET", "/v1/signals", params={"text": first.text + "。"}).json()["cases"]
    assert same["case"] == case["case"]


@pytest.mark.parametrize(("error", "status"), [(RateLimited("full", 2.0), 429), (ServiceUnavailable("locked"), 503)])
def test_a_store_that_cannot_take_it_says_when_to_come_back(error: Exception, status: int) -> None:
    class Refusing:
        async def add(self, **_: object) -> None:
            raise error

    answer = call(Refusing(), "POST", "/v1/feedback", json=dwell("e1"))  # type: ignore[arg-type]
    assert answer.status_code == status
    assert int(answer.headers["Retry-After"]) >= 1
