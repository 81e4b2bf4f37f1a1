"""A version on a model server: connections are kept, a broken one is tried once more, failures have types and are counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kickwheel.errors import (
    AccessRefused,
    AnswerTimeout,
    ContextTooLong,
    KickwheelError,
    RateLimited,
    RequestRefused,
    ServiceUnavailable,
)
from kickwheel.serving.upstream_adapter import UpstreamStudent
from kickwheel.testing.model_server import Failure, FakeModelServer
from kickwheel.testing.sample_report import sample_catalog

TEXT = "把昨天的订单同步到２号仓"
REPLY = '{"intent": "sync_orders", "slots": {"date": "昨天"}}'


def asked(
    server: FakeModelServer,
    questions: Callable[[UpstreamStudent], Coroutine[Any, Any, Any]],
    *,
    timeout_s: float = 5.0,
    confidence: bool = True,
) -> tuple[Any, list[str]]:
    """What the questions gave, and the codes of failures that were told."""
    failures: list[str] = []

    async def scenario() -> Any:
        student = UpstreamStudent(
            server.url,
            "base",
            sample_catalog(),
            timeout_s=timeout_s,
            connections=4,
            confidence=confidence,
            on_failure=failures.append,
        )
        try:
            return await questions(student)
        finally:
            await student.close()

    return asyncio.run(scenario()), failures


def test_a_reply_is_a_frame_with_confidence() -> None:
    with FakeModelServer(reply=lambda _messages, _model: REPLY) as server:
        prediction, failures = asked(server, lambda student: student.understand(TEXT))
        assert prediction.frame.values == {"date": "昨天"}
        assert prediction.confidence == pytest.approx(0.905, abs=0.001)
        assert set(prediction.slot_confidence) == {"date"}
        assert failures == []
        (request,) = server.chats
        assert request.body["messages"][-1] == {"role": "user", "content": TEXT}
        assert request.body["temperature"] == 0


def test_without_confidence_no_probabilities_are_asked_for() -> None:
    with FakeModelServer(reply=lambda _messages, _model: REPLY) as server:
        prediction, _ = asked(server, lambda student: student.understand(TEXT), confidence=False)
        assert prediction.confidence is None
        assert "logprobs" not in server.chats[0].body


def test_many_callers_share_few_connections_that_stay_open() -> None:
    async def many(student: UpstreamStudent) -> set[object]:
        ports = set()
        for _ in range(5):
            await asyncio.gather(*(student.understand(TEXT) for _ in range(8)))
            connections = server._server.server_state.connections
            ports |= {getattr(connection, "client", None) for connection in connections}
        return ports

    with FakeModelServer(reply=lambda _messages, _model: REPLY) as server:
        ports, _ = asked(server, many)
        assert len(server.chats) == 40
        assert 1 <= len(ports) <= 4


def test_a_broken_connection_is_tried_once_more_and_no_oftener() -> None:
    with FakeModelServer(reply=lambda _messages, _model: REPLY) as server:
        server.failures.extend([Failure(reset=True)])
        prediction, failures = asked(server, lambda student: student.understand(TEXT))
        assert prediction.frame is not None
        assert failures == ["connect"]
        server.failures.extend([Failure(reset=True), Failure(reset=True)])
        with pytest.raises(ServiceUnavailable, match="cannot be reached"):
            asked(server, lambda student: student.understand(TEXT))
        assert len(server.chats) == 4


@pytest.mark.parametrize(
    ("failure", "kind", "code"),
    [
        (Failure(status=500), ServiceUnavailable, "500"),
        (Failure(status=503, retry_after="2"), RateLimited, "503"),
        (Failure(status=429), RateLimited, "429"),
        (Failure(status=401), AccessRefused, "401"),
        (Failure(status=400), RequestRefused, "400"),
        (Failure(status=400, body={"error": {"message": "maximum context length is 32"}}), ContextTooLong, "400"),
        (Failure(status=200, body={"hello": "world"}), RequestRefused, "no_completion"),
    ],
)
def test_failures_have_types_and_codes_and_are_not_tried_again(failure: Failure, kind: type[KickwheelError], code: str) -> None:
    failures: list[str] = []
    with FakeModelServer() as server:
        server.failures.append(failure)

        async def scenario() -> None:
            student = UpstreamStudent(
                server.url, "base", sample_catalog(), timeout_s=5, connections=1, confidence=False, on_failure=failures.append
            )
            try:
                with pytest.raises(kind) as raised:
                    await student.understand(TEXT)
                assert type(raised.value) is kind
            finally:
                await student.close()

        asyncio.run(scenario())
        assert failures == [code]
        assert len(server.chats) == 1


def test_a_server_that_hangs_is_too_late_and_not_asked_again() -> None:
    with FakeModelServer() as server:
        server.failures.append(Failure(hang=True))
        with pytest.raises(AnswerTimeout, match="within"):
            asked(server, lambda student: student.understand(TEXT), timeout_s=0.2)
        assert len(server.chats) == 1


def test_nobody_at_the_address_is_unavailable() -> None:
    with FakeModelServer() as server:
        pass
    with pytest.raises(ServiceUnavailable):
        asked(server, lambda student: student.understand(TEXT))
