"""Warm-up sends until the latency is steady, and not for ever."""

from __future__ import annotations

import pytest

from kickwheel.inference.ports import ChatReply, ChatRequest, Message
from kickwheel.inference.warmup import MOST, warm_up

PLAIN = ChatRequest(messages=(Message("user", "hello"),), max_tokens=8)
STRUCTURED = ChatRequest(messages=(Message("user", "hello"),), max_tokens=8, json_schema={"type": "object"})


class SlowThenSteady:
    """A client whose time is set: each request takes the next of ``latencies``."""

    model = "slow"

    def __init__(self, latencies: list[float]):
        self.latencies = latencies
        self.now = 0.0
        self.asked: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> ChatReply:
        self.now += self.latencies[len(self.asked)]
        self.asked.append(request)
        return ChatReply(text="", finish_reason="stop", model=self.model, prompt_tokens=0, completion_tokens=0)

    def clock(self) -> float:
        return self.now


def test_it_stops_as_soon_as_two_latencies_agree() -> None:
    client = SlowThenSteady([10.0, 1.0, 0.9, 5.0])
    assert warm_up(client, [PLAIN], clock=client.clock) == pytest.approx(11.9)
    assert len(client.asked) == 3


def test_a_server_that_never_settles_is_given_up_on() -> None:
    client = SlowThenSteady([2.0**number for number in range(20)])
    warm_up(client, [PLAIN], clock=client.clock)
    assert len(client.asked) == MOST


def test_every_kind_of_request_is_warmed() -> None:
    client = SlowThenSteady([1.0, 1.0, 14.0, 1.5, 1.5])
    warm_up(client, [PLAIN, STRUCTURED], clock=client.clock)
    assert client.asked == [PLAIN, PLAIN, STRUCTURED, STRUCTURED, STRUCTURED]
