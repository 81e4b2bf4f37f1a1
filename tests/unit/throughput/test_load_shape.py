"""One load test of any shape: how it is written, what is sent when, and what its report says of each part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.settings import ThroughputSettings
from kickwheel.testing.sample_report import sample_catalog
from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.load_shape import describe_load, parse_load
from kickwheel.throughput.measure import measure_load
from kickwheel.throughput.point_log import PointLog
from kickwheel.throughput.ports import LoadPlan, Sample, StepRecord
from schemas.frame import Frame
from schemas.throughput import Slo, ThroughputReport
from schemas.utterance import Utterance

ROWS = [
    Utterance(id=f"r{number}", text=f"row {number}", language="en", frame=Frame(intent="out_of_scope")) for number in range(12)
]
SETTINGS = ThroughputSettings(slo=Slo(p99_ms=1000.0), unloaded_requests=4)


class Queue:
    """One request after the other, each in 50 ms: a rate above 20 a second piles up. Dies at the number given."""

    def __init__(self, dies_at: int = 0):
        self.plans: list[LoadPlan] = []
        self.dies_at = dies_at
        self.dead = False

    def run(self, plan: LoadPlan) -> StepRecord:
        self.plans.append(plan)
        schedule = plan.schedule or tuple(number * 0.05 for number in range(len(plan.bodies)))
        free, samples = 0.0, []
        for number, at in enumerate(schedule):
            free = max(free, at) + 0.05
            self.dead = self.dead or (bool(self.dies_at) and bool(plan.schedule) and number >= self.dies_at)
            samples.append(Sample(at, at, free, free - 0.01, 8, "connection" if self.dead else None, text="{}"))
        return StepRecord(tuple(samples), max_in_flight=max(1, plan.concurrency))

    def drain(self) -> None:
        pass

    def is_alive(self) -> bool:
        return not self.dead


def put(text: str, queue: Queue, log: PointLog | None = None, **how: float) -> ThroughputReport:
    bench = Bench(queue, ROWS, SETTINGS, seed=1, catalog=sample_catalog(), log=log)
    return measure_load(bench, Arm("adapter", ("tuned",)), parse_load(text, **how), words={"cores": "shared"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("constant:20", "20 requests/s, constant, for 60 s"),
        ("poisson:2.5", "2.5 requests/s, poisson, for 60 s"),
        ("steps:50,100,500", "steps of 50, 100, 500 requests/s, 60 s each"),
        ("ramp:5-50", "a ramp from 5 to 50 requests/s in 60 s"),
        ("burst:200", "200 requests at once"),
        ("concurrency:8", "300 requests, 8 at a time"),
    ],
)
def test_a_load_is_written_in_a_word_and_numbers(text: str, said: str) -> None:
    assert describe_load(parse_load(text)) == said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("flood:3", "there is no load 'flood'"),
        ("flood:3,x", "can't be read as numbers"),
        ("constant:", "values are missing"),
        ("constant:1,2", "constant takes one rate"),
        ("ramp:5", "two rates"),
        ("steps:5,-1", "every rate must be above 0"),
        ("burst:0", "at least 1"),
        ("burst:2.5", "can't be read"),
        ("trace:", "trace takes a file"),
        ("trace:/nowhere.jsonl", "no such trace"),
    ],
)
def test_what_is_no_load_is_refused_with_the_forms_that_there_are(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        parse_load(text)
    assert "nowhere" in text or "ramp:FROM-TO" in str(refused.value)


def test_steps_are_one_test_and_a_figure_for_each_rate() -> None:
    queue = Queue()
    report = put("steps:10,40", queue, seconds=2.0)
    whole, slow, fast = report.points
    assert len(queue.plans) == 2  # without load, and all steps in one
    assert (whole.sent, slow.sent, fast.sent) == (100, 20, 80)
    assert (whole.schedule, whole.steady, slow.offered_rate, fast.offered_rate) == ("steps of 2 s", False, 10.0, 40.0)
    assert slow.latency_ms.p99 == pytest.approx(50)
    assert fast.latency_ms.p99 == pytest.approx(2010, rel=0.02)  # 80 requests in 2 s, 20 a second are answered
    assert (slow.max_in_flight, fast.max_in_flight) == (1, 41)
    assert report.largest_rate("adapter") == 10.0
    assert report.load == "steps of 10, 40 requests/s, 2 s each"


def test_a_ramp_a_burst_and_a_closed_loop_are_sent_as_they_were_asked_for() -> None:
    for text, sent, scheduled, at_a_time in (
        ("ramp:2-18", 40, True, 0),
        ("burst:30", 30, True, 0),
        ("concurrency:3", 25, False, 3),
        ("poisson:8", 32, True, 0),
    ):
        queue = Queue()
        (point,) = put(text, queue, seconds=4.0, requests=25).points
        assert point.sent == sent
        assert (bool(queue.plans[1].schedule), queue.plans[1].concurrency) == (scheduled, at_a_time)


def test_a_trace_sends_its_own_texts_at_its_own_times_and_judges_those_that_are_known(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    lines = [{"at_s": 7.0, "text": "row 3"}, {"at_s": 5.0, "text": "复制订单"}, {"at_s": 9.0}]
    file.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    queue = Queue()
    report = put(f"trace:{file}", queue, speed=2.0)
    plan = queue.plans[1]
    assert plan.schedule == (0.0, 1.0, 2.0)
    said = [json.loads(body)["messages"][-1]["content"] for body in plan.bodies]
    assert "复制订单" in said[0]
    assert "row 3" in said[1]
    assert "row" in said[2]
    assert report.points[0].schedule == "trace"
    assert report.load == "the trace calls.jsonl at 2 times its speed"


def test_a_server_that_dies_in_the_middle_is_a_result_with_its_errors() -> None:
    report = put("constant:10", Queue(dies_at=15), seconds=3.0)
    assert not report.measured
    assert report.not_measured_reason == "the model server died under 10 requests/s, constant, for 3 s (adapter)"
    assert report.points[0].errors == {"connection": 15}


def test_a_load_that_was_measured_before_a_kill_is_not_put_again(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    first = put("steps:10,40", Queue(), PointLog(path), seconds=2.0)
    idle = Queue()
    assert put("steps:10,40", idle, PointLog(path), seconds=2.0) == first
    assert idle.plans == []
