"""Arms under the same load, accuracy under it, steps that survive a kill, and the version before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kickwheel.inference.frame_codec import encode_frame
from kickwheel.settings import ThroughputSettings
from kickwheel.testing.sample_report import sample_catalog
from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.cores_adapter import plan_cores
from kickwheel.throughput.drift import BurstBaseline, judged_burst
from kickwheel.throughput.measure import measure
from kickwheel.throughput.point_log import PointLog
from kickwheel.throughput.ports import Instant, LoadPlan, Sample, Scrape, StepRecord
from kickwheel.throughput.server_metrics import RUNNING, WAITING, parse_metrics, server_figures, timeline
from schemas.frame import Frame
from schemas.throughput import Percentiles, ServerFigures, Slo
from schemas.utterance import Utterance

CATALOG = sample_catalog()
ROWS = [
    Utterance(id=f"r{number}", text=f"row {number}", language="en", frame=Frame(intent="out_of_scope")) for number in range(12)
]
RIGHT, WRONG = encode_frame(Frame(intent="out_of_scope")), encode_frame(Frame(intent=CATALOG.intents[0]))
SETTINGS = ThroughputSettings(
    slo=Slo(p99_ms=1000.0), start_rate=2.0, max_points=5, min_requests=8, step_s=2.0, unloaded_requests=10, tolerance=0.5
)


class Scripted:
    """Latency grows with the rate; above ``tired`` a row's reply is wrong; dies, or stands still, in the step given."""

    def __init__(self, capacity: float = 7.0, tired: float = 1e9, dies_in: int = 0, stalls_in: int = 0):
        self.plans: list[LoadPlan] = []
        self.capacity, self.tired, self.dies_in, self.stalls_in = capacity, tired, dies_in, stalls_in

    def run(self, plan: LoadPlan) -> StepRecord:
        self.plans.append(plan)
        schedule = plan.schedule or tuple(float(number) for number in range(len(plan.bodies)))
        rate = 1 / (schedule[1] - schedule[0]) if schedule[1] > schedule[0] else 0.0
        latency = 0.1 if not plan.schedule or rate < self.capacity else 3.0
        if len(self.plans) == self.stalls_in:
            latency = 3.0
        error = "connection" if len(self.plans) == self.dies_in else None
        text = WRONG if plan.schedule and rate > self.tired else RIGHT
        samples = tuple(
            Sample(at, at, at + latency, at + 0.05, 8, error, text=text, finish_reason="stop", last_token=at + latency)
            for at in schedule
        )
        return StepRecord(samples, max_in_flight=1)

    def drain(self) -> None:
        pass

    def is_alive(self) -> bool:
        return len(self.plans) != self.dies_in

    @property
    def asked(self) -> list[tuple[str, int]]:
        return [(json.loads(plan.bodies[0])["model"], len(plan.bodies)) for plan in self.plans]


def bench(generator: Scripted, log: PointLog | None = None, settings: ThroughputSettings = SETTINGS) -> Bench:
    return Bench(generator, ROWS, settings, seed=1, catalog=CATALOG, log=log)


def test_arms_get_the_same_rows_at_the_same_times_in_turning_order() -> None:
    generator = Scripted()
    report = measure(bench(generator), Arm("adapter", ("tuned",)), (Arm("base", ("smol",)),))
    assert [model for model, _ in generator.asked] == [
        "tuned",
        "tuned",
        "smol",
        "smol",
        "tuned",
        "tuned",
        "smol",
        "smol",
        "tuned",
        "tuned",
        "smol",
    ]
    for first, second in zip(generator.plans[1::2], generator.plans[2::2], strict=True):
        assert first.schedule == second.schedule
        said = [[json.loads(body)["messages"] for body in plan.bodies] for plan in (first, second)]
        assert said[0] == said[1]
    assert {json.loads(plan.bodies[0]).get("max_tokens") for plan in generator.plans} == {64, 8}  # the base writes as much
    assert [point.offered_rate for point in report.points if point.arm == "adapter"] == pytest.approx([2, 4, 8, 8, 32**0.5])
    (search,) = report.searches
    assert search.largest_rate == pytest.approx(32**0.5)
    assert search.unloaded_p99_ms == pytest.approx(100)
    assert report.largest_rate("base") == pytest.approx(32**0.5)
    assert report.measured


@pytest.mark.parametrize("stalls_in", range(2, 9))
def test_one_bad_moment_does_not_change_the_answer(stalls_in: int) -> None:
    settings = SETTINGS.model_copy(update={"max_points": 12, "tolerance": 0.05, "start_rate": 1.0})
    calm = measure(bench(Scripted(), settings=settings), Arm("adapter", ("tuned",)))
    shaken = measure(bench(Scripted(stalls_in=stalls_in), settings=settings), Arm("adapter", ("tuned",)))
    assert shaken.searches[0].largest_rate == calm.searches[0].largest_rate == pytest.approx(6.727, rel=0.01)
    assert shaken.largest_rate("adapter") == calm.largest_rate("adapter")


def test_accuracy_under_load_is_held_against_that_without() -> None:
    settings = SETTINGS.model_copy(update={"slo": Slo(p99_ms=1000.0, joint_accuracy_ratio=0.99)})
    report = measure(bench(Scripted(tired=3.0), settings=settings), Arm("adapter", ("tuned",)))
    held = {point.offered_rate: point for point in report.points}
    assert held[2.0].accuracy is not None
    assert (held[2.0].accuracy.loaded, held[2.0].accuracy.ratio, held[2.0].holds_slo) == (1.0, 1.0, True)
    assert held[4.0].accuracy is not None
    assert (held[4.0].accuracy.unloaded, held[4.0].accuracy.loaded) == (1.0, 0.0)
    assert held[4.0].missed == ("joint_accuracy_ratio 0 below 0.99",)
    assert report.searches[0].largest_rate < 4.0


def test_replies_of_a_set_length_have_no_accuracy() -> None:
    report = measure(bench(Scripted()), Arm("adapter", ("tuned",), fixed_tokens=8))
    assert {point.accuracy for point in report.points} == {None}


def test_mixed_adapters_take_the_requests_in_turn() -> None:
    generator = Scripted()
    bench(generator).at_rate(Arm("mixed", ("a", "b", "c")), 4.0)
    assert [json.loads(body)["model"] for body in generator.plans[0].bodies][:4] == ["a", "b", "c", "a"]


def test_a_server_that_dies_ends_the_measurement_and_is_a_result() -> None:
    report = measure(bench(Scripted(dies_in=5)), Arm("adapter", ("tuned",)), (Arm("base", ("smol",)),))
    assert not report.measured
    assert report.not_measured_reason == "the model server died at 4 requests/s (adapter)"
    assert report.points[-1].errors == {"connection": 8}
    assert report.searches[0].ended_by == "server_died"
    assert report.largest_rate("base") is None


def test_what_was_measured_before_a_kill_is_not_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"

    class Killed(Scripted):
        def run(self, plan: LoadPlan) -> StepRecord:
            if len(self.plans) == 4:
                raise KeyboardInterrupt
            return super().run(plan)

    arms = Arm("adapter", ("tuned",)), (Arm("base", ("smol",)),)
    with pytest.raises(KeyboardInterrupt):
        measure(bench(Killed(), PointLog(path)), *arms)
    with path.open("ab") as file:
        file.write(b'{"key": "torn')
    again = Scripted()
    report = measure(bench(again, PointLog(path)), *arms)
    whole = measure(bench(Scripted()), *arms)
    assert len(again.plans) == 11 - 4
    assert report == whole


def test_a_finished_log_measures_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    first = measure(bench(Scripted(), PointLog(path)), Arm("adapter", ("tuned",)))
    idle = Scripted()
    assert measure(bench(idle, PointLog(path)), Arm("adapter", ("tuned",))) == first
    assert idle.plans == []


PAGE = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 7.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 99.0
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total{engine="0"} %d
vllm:prefix_cache_hits_total{engine="0"} %d
vllm:request_decode_time_seconds_sum{engine="0"} %f
vllm:request_decode_time_seconds_count{engine="0"} %d
"""


def test_the_servers_own_figures_are_differences_of_counters_and_largest_gauges() -> None:
    before, after = parse_metrics(PAGE % (100, 50, 1.0, 10)), parse_metrics(PAGE % (300, 200, 3.0, 20))
    assert (after[RUNNING], after[WAITING]) == (8.0, 3.0)
    figures = server_figures([Scrape(1.0, {**before, WAITING: 9.0}), Scrape(2.0, after)])
    assert figures is not None
    assert (figures.queue_max, figures.running_max, figures.prefix_hit_rate) == (9.0, 8.0, 0.75)
    assert figures.decode_ms == pytest.approx(200)
    assert (figures.preemptions, figures.kv_used_max, figures.gpu_memory_mib) == (None, None, None)
    assert server_figures([]) is None
    assert parse_metrics("<html>not here</html>") == {}


def test_the_timeline_joins_what_client_and_server_saw() -> None:
    instants = [Instant(0.0, 1, 0, 1), Instant(1.0, 5, 2, 3), Instant(5.0, 9, 9, 0)]
    joined = timeline(instants, [Scrape(101.1, {WAITING: 2.0})], begin=100.0)
    assert [(item.at_s, item.in_flight, item.waiting) for item in joined] == [(0.0, 1, None), (1.0, 3, 2.0), (5.0, 0, None)]


def burst_point(p95: float, memory: float | None) -> Sequence[object]:
    found = bench(Scripted()).burst(Arm("adapter", ("tuned",)))
    figures = ServerFigures(process_memory_mib=memory)
    return found.model_copy(update={"latency_ms": Percentiles(p95=p95), "server": figures})  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("p95", "memory", "alarms"), [(1290.0, 1140.0, 0), (1310.0, 1000.0, 1), (1310.0, 1160.0, 2), (900.0, None, 0)]
)
def test_a_start_that_got_slower_or_larger_is_an_alarm(p95: float, memory: float | None, alarms: int) -> None:
    burst = judged_burst(burst_point(p95, memory), 200, BurstBaseline("run-1", 1000.0, 1000.0), cold=True)  # type: ignore[arg-type]
    assert len(burst.alarms) == alarms
    assert burst.compared_with == "run-1"


def test_a_burst_that_nobody_answers_is_an_alarm_of_its_own() -> None:
    dead = burst_point(5.0, 1.0).model_copy(update={"succeeded": 0})  # type: ignore[attr-defined]
    assert judged_burst(dead, 200, None, cold=True).alarms == ("not one of the first 200 requests was answered",)


def test_a_first_burst_has_nothing_to_be_compared_with() -> None:
    burst = judged_burst(burst_point(5.0, 1.0), 200, None, cold=False)  # type: ignore[arg-type]
    assert (burst.alarms, burst.compared_with, burst.p95_change) == ((), "", None)


def test_cores_are_shared_out_and_it_is_said() -> None:
    two, eight = (0, 1), tuple(range(8))

    def cores(wanted: str, have: tuple[int, ...], **place: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        plan = plan_cores(wanted, have, **{"ours": True, "on_cpu": True, "local": True, **place})  # type: ignore[arg-type]
        assert plan.said
        return plan.server, plan.generator

    assert cores("auto", two) == ((), ())
    assert cores("separate", two) == ((0,), (1,))
    assert cores("auto", eight) == (eight[:-1], (7,))
    assert cores("auto", two, on_cpu=False) == ((0,), (1,))
    assert cores("separate", two, ours=False) == ((), (1,))
    assert cores("separate", two, local=False) == ((), ())
    assert cores("shared", eight) == ((), ())
    assert cores("separate", (0,)) == ((), ())
