"""The generator against a server whose latencies are set, checked against the server's own record.

Nothing here is about speed: the figures are compared with what the server was told to do, or with what it saw.
"""

from __future__ import annotations

import threading

import pytest

from kickwheel.testing.model_server import Failure, FakeModelServer
from kickwheel.throughput.generator_adapter import OpenLoopGenerator
from kickwheel.throughput.schedule import constant_schedule
from kickwheel.throughput.statistics import percentile

SCHEDULE = constant_schedule(40.0, 0.5)
TEXTS = [f"utterance {number}" for number in range(len(SCHEDULE))]


def test_every_scheduled_request_is_sent_once_and_counted_by_the_servers_own_usage() -> None:
    with FakeModelServer(reply=lambda _messages, _model: "x" * 40) as server:
        record = OpenLoopGenerator(server.url).run("base", TEXTS, SCHEDULE)
    assert [sample.scheduled for sample in record.samples] == list(SCHEDULE)
    assert {sample.error for sample in record.samples} == {None}
    assert {sample.completion_tokens for sample in record.samples} == {10}
    assert sorted(chat.body["messages"][-1]["content"] for chat in server.chats) == sorted(TEXTS)


def test_requests_carry_the_students_own_prompt_and_ask_for_usage() -> None:
    with FakeModelServer() as server:
        OpenLoopGenerator(server.url, output_tokens=7).run("base", ["同步订单"], [0.0])
    (chat,) = server.chats
    assert chat.body["messages"] == [{"role": "system", "content": "Frame:"}, {"role": "user", "content": "同步订单"}]
    assert chat.body["stream_options"] == {"include_usage": True}
    assert (chat.body["max_tokens"], chat.body["ignore_eos"]) == (7, True)


def test_times_agree_with_what_the_server_did() -> None:
    """Never faster than the server was told to be, and never faster than it saw itself."""
    with FakeModelServer(reply=lambda _messages, _model: "x" * 40, ttft_s=0.1, token_s=0.01) as server:
        record = OpenLoopGenerator(server.url).run("base", TEXTS, SCHEDULE)
        inside = [chat.finished - chat.received for chat in server.chats if chat.finished is not None]
    assert len(inside) == len(TEXTS)
    for sample in record.samples:
        assert sample.first_token is not None
        assert sample.scheduled <= sample.sent
        assert sample.first_token - sample.sent >= 0.1
        assert sample.finished - sample.sent >= 0.1 + 9 * 0.01
    for share in (0.5, 0.99):
        mine, theirs = percentile([s.finished - s.sent for s in record.samples], share), percentile(inside, share)
        assert mine is not None
        assert theirs is not None
        assert mine >= theirs


def test_a_stall_is_seen_by_every_request_that_was_due_in_it() -> None:
    """No coordinated omission: one request stalls a server that works on one at a time, the others were due all the same."""
    with FakeModelServer(parallel=1, ttft_s=lambda number: 0.6 if number == 2 else 0.0) as server:
        record = OpenLoopGenerator(server.url).run("base", TEXTS, SCHEDULE)
    slow = [sample for sample in record.samples if sample.latency > 0.2]
    assert len(slow) >= 12
    assert (percentile([sample.latency for sample in record.samples], 0.99) or 0) >= 0.5
    assert record.max_in_flight >= 12


def test_failures_are_counted_by_kind_and_apart_from_successes() -> None:
    with FakeModelServer() as server:
        server.failures.extend([Failure(status=429), None, Failure(status=500), Failure(break_off=True), Failure(hang=True)])
        record = OpenLoopGenerator(server.url, request_limit_s=1.0).run("base", TEXTS[:6], SCHEDULE[:6])
    errors = sorted(sample.error for sample in record.samples if sample.error is not None)
    assert errors == ["http_429", "http_500", "incomplete", "timeout"]
    assert sum(sample.error is None for sample in record.samples) == 2


def test_an_unknown_model_is_an_error_of_every_request() -> None:
    with FakeModelServer() as server:
        record = OpenLoopGenerator(server.url).run("no-such-adapter", TEXTS[:3], SCHEDULE[:3])
    assert [sample.error for sample in record.samples] == ["http_404"] * 3


@pytest.mark.timeout(60)
def test_a_server_that_dies_in_the_middle_leaves_errors_and_nothing_hangs() -> None:
    def first_token_after(number: int) -> float:
        if number == 10:
            server.die()
        return 0.0

    with FakeModelServer(ttft_s=first_token_after) as server:
        generator = OpenLoopGenerator(server.url, request_limit_s=5.0)
        record = generator.run("base", TEXTS, SCHEDULE)
        alive = generator.is_alive()
    kinds = [sample.error for sample in record.samples]
    assert len(kinds) == len(SCHEDULE)
    assert kinds[0] is None
    assert kinds[-1] == "connection"
    assert set(kinds) <= {None, "connection", "incomplete"}
    assert not alive


def test_draining_waits_until_the_server_is_idle_but_not_for_ever() -> None:
    with FakeModelServer(ttft_s=1.0) as server:
        background = threading.Thread(target=lambda: OpenLoopGenerator(server.url).run("base", ["hello"], [0.0]))
        background.start()
        while not server.chats:
            pass
        OpenLoopGenerator(server.url, drain_limit_s=0.1).drain()
        assert server.chats[0].finished is None
        OpenLoopGenerator(server.url, drain_limit_s=30).drain()
        assert server.chats[0].finished is not None
        background.join()
