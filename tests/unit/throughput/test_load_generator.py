"""The generator against a server that writes down what it did. Both have the same clock, so that they can be compared."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from kickwheel.testing.fast_server import Behaviour
from kickwheel.testing.fast_server_process import FastServer
from kickwheel.testing.model_server import FakeModelServer
from kickwheel.throughput.generator_adapter import ProcessGenerator
from kickwheel.throughput.ports import LoadPlan, StepRecord, StopRule
from kickwheel.throughput.request_body import request_body
from kickwheel.throughput.schedule import Schedule, burst_schedule, constant_schedule, poisson_schedule
from kickwheel.throughput.statistics import percentile


def plan(schedule: Schedule, stop: StopRule | None = None, model: str = "base") -> LoadPlan:
    bodies = tuple(request_body(model, f"utterance {number}", max_tokens=64) for number in range(len(schedule)))
    return LoadPlan(bodies, schedule, stop=stop)


def agree(record: StepRecord, server: FastServer) -> None:
    """Percentiles of the generator's figures and of the server's own record, within 3 %."""
    seen = {int(item.id): item for item in server.record()}
    assert len(seen) == len(record.samples)
    ours = [sample.latency for sample in record.samples]
    theirs = [seen[number].finished - (record.begin + sample.scheduled) for number, sample in enumerate(record.samples)]
    first = [(sample.first_token or 0.0) - sample.scheduled for sample in record.samples]
    firsts = [seen[number].first_token - (record.begin + sample.scheduled) for number, sample in enumerate(record.samples)]
    for mine, its in ((ours, theirs), (first, firsts)):
        for share in (0.5, 0.9, 0.95, 0.99):
            expected = percentile(its, share)
            assert expected is not None
            assert percentile(mine, share) == pytest.approx(expected, rel=0.03)


def test_percentiles_agree_with_the_servers_own_record_within_3_percent() -> None:
    with FastServer(Behaviour(ttft_s=0.6, token_s=0.05, sigma=0.4, parallel=40)) as server:
        record = ProcessGenerator(server.url).run(plan(poisson_schedule(40.0, 2.0, seed=1)))
        assert {sample.error for sample in record.samples} == {None}
        assert {sample.completion_tokens for sample in record.samples} == {8}
        agree(record, server)


def test_a_stall_of_two_seconds_is_in_the_percentiles_as_the_servers_record_has_it() -> None:
    """No coordinated omission: what was due in the stall waited for it, although the server saw it only afterwards."""
    with FastServer(Behaviour(ttft_s=0.5, token_s=0.02, stalls=((0.5, 2.0),))) as server:
        record = ProcessGenerator(server.url).run(plan(constant_schedule(40.0, 2.5)))
        assert {sample.error for sample in record.samples} == {None}
        agree(record, server)
        its_own = [seen.finished - seen.received for seen in server.record()]
    ours = [sample.latency for sample in record.samples]
    assert (percentile(ours, 0.5) or 0) > 1.0
    assert (percentile(ours, 0.99) or 0) > 2.0
    assert sum(latency > 1.0 for latency in ours) > 40
    assert sum(latency > 1.0 for latency in its_own) < 30  # a server that is asked does not know of it
    assert record.max_in_flight > 60


def test_every_scheduled_request_is_sent_once_with_the_products_prompt() -> None:
    schedule = constant_schedule(50.0, 0.4)
    with FakeModelServer(reply=lambda _messages, _model: "x" * 40) as server:
        record = ProcessGenerator(server.url).run(plan(schedule))
    assert [sample.scheduled for sample in record.samples] == list(schedule)
    assert {sample.error for sample in record.samples} == {None}
    assert {(sample.completion_tokens, sample.text) for sample in record.samples} == {(10, "x" * 40)}
    assert sorted(chat.body["messages"][-1]["content"] for chat in server.chats) == sorted(f"utterance {n}" for n in range(20))
    assert server.chats[0].body["messages"][0] == {"role": "system", "content": "Frame:"}
    assert server.chats[0].body["stream_options"] == {"include_usage": True}


def test_failures_are_counted_by_kind_and_apart_from_successes() -> None:
    behaviour = Behaviour(fail_every=5, fail_status=429, break_every=4, ttft_s=0.01, token_s=0.001)
    with FastServer(behaviour) as server:
        record = ProcessGenerator(server.url).run(plan(constant_schedule(40.0, 0.5)))
    kinds = [sample.error for sample in record.samples]
    assert (kinds.count("http_429"), kinds.count("incomplete"), kinds.count(None)) == (4, 4, 12)


def test_what_takes_too_long_is_a_timeout_and_what_nobody_serves_an_error() -> None:
    with FastServer(Behaviour(ttft_s=30.0)) as server:
        generator = ProcessGenerator(server.url, request_limit_s=0.3)
        assert [sample.error for sample in generator.run(plan(burst_schedule(3))).samples] == ["timeout"] * 3
        assert [sample.error for sample in generator.run(plan(burst_schedule(2), model="x")).samples] == ["http_404"] * 2


def test_a_closed_loop_has_as_many_under_way_as_it_was_told() -> None:
    bodies = plan(burst_schedule(12)).bodies
    with FastServer(Behaviour(ttft_s=0.05)) as server:
        record = ProcessGenerator(server.url).run(LoadPlan(bodies, concurrency=3))
        seen = server.record()
    assert record.max_in_flight == 3
    assert len(seen) == 12
    edges = sorted([(item.received, 1) for item in seen] + [(item.finished, -1) for item in seen], key=lambda e: (e[0], e[1]))
    assert max(sum(step for _, step in edges[: n + 1]) for n in range(len(edges))) <= 3


def test_a_step_that_is_lost_is_ended_and_says_why() -> None:
    with FastServer(Behaviour(ttft_s=0.4, parallel=1)) as server:
        began = time.monotonic()
        record = ProcessGenerator(server.url).run(plan(constant_schedule(20.0, 60.0), StopRule(limit_s=0.8, allowed=3)))
        took = time.monotonic() - began
    assert took < 30
    assert "longer than 0.8 s, 3 were allowed" in record.stopped_early
    assert len(record.samples) < 1200
    assert {sample.error for sample in record.samples} == {None, "abandoned"}


@pytest.mark.timeout(60)
def test_a_server_killed_in_the_middle_leaves_errors_and_nothing_hangs() -> None:
    with FastServer(Behaviour(ttft_s=0.05, token_s=0.01, die_at=30)) as server:
        generator = ProcessGenerator(server.url, request_limit_s=5.0)
        record = generator.run(plan(constant_schedule(40.0, 1.6)))
        assert not generator.is_alive()
        generator.drain()
    kinds = [sample.error for sample in record.samples]
    assert len(kinds) == 64
    assert (kinds[0], kinds[-1]) == (None, "connection")
    assert set(kinds) <= {None, "connection", "incomplete"}
    assert not [child for child in psutil.Process().children(recursive=True) if "client_adapter" in " ".join(child.cmdline())]


@pytest.mark.timeout(60)
def test_the_client_ends_with_the_process_that_wanted_its_record(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        from kickwheel.throughput.generator_adapter import ProcessGenerator
        from kickwheel.throughput.ports import LoadPlan
        ProcessGenerator(sys.argv[1]).run(LoadPlan((b"{}",) * 60, tuple(float(n) for n in range(60))))
        """),
        encoding="utf-8",
    )
    with FastServer() as server:
        parent = subprocess.Popen([sys.executable, str(script), server.url])
        children: list[psutil.Process] = []
        while not children:
            children = psutil.Process(parent.pid).children(recursive=True)
            time.sleep(0.02)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []


def test_draining_waits_until_the_server_is_idle_but_not_for_ever() -> None:
    with FastServer(Behaviour(ttft_s=1.0)) as server:
        background = threading.Thread(target=lambda: ProcessGenerator(server.url).run(plan((0.0,))))
        background.start()
        while not server.record():
            time.sleep(0.01)
        ProcessGenerator(server.url, drain_limit_s=0.1).drain()
        assert server.record()[0].finished == 0
        ProcessGenerator(server.url, drain_limit_s=30).drain()
        assert server.record()[0].finished > 0
        background.join()
