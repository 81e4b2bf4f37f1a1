"""Percentiles, intervals, objective and the figures of a step: what a throughput report rests on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kickwheel.errors import InputError
from kickwheel.throughput.points import load_point
from kickwheel.throughput.ports import Sample, StepRecord
from kickwheel.throughput.slo import describe, is_void, missed, parse_slo, stop_rule
from kickwheel.throughput.statistics import percentile, percentile_interval, percentiles_ms, quantiles_ms
from schemas.throughput import AccuracyUnderLoad, LoadPoint, Percentiles, Slo

SLO = Slo(p99_ms=1000.0, error_rate=0.1)


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1), st.floats(min_value=0.01, max_value=1))
def test_a_percentile_is_a_sample_with_that_share_at_or_below_it(samples: list[float], share: float) -> None:
    value = percentile(samples, share)
    assert value in samples
    assert sum(sample <= value for sample in samples) >= share * len(samples) - 1e-6
    assert sum(sample < value for sample in samples) < share * len(samples) + 1e-6


def test_percentiles_are_in_milliseconds_and_absent_without_samples() -> None:
    found = percentiles_ms([float(number) for number in range(10, 0, -1)])
    assert (found.p50, found.p90, found.p95, found.p99) == (5000, 9000, 10_000, 10_000)
    assert percentiles_ms([]) == Percentiles()
    assert quantiles_ms([0.3, 0.1, 0.2])[::25] == (100, 200, 300)


def test_intervals_hold_the_true_percentile_as_often_as_they_say() -> None:
    rng = random.Random(7)
    covered = 0
    for _ in range(400):
        low, high = percentile_interval([rng.random() for _ in range(200)], 0.90)
        assert low is not None
        assert high is not None
        covered += low <= 0.90 <= high
    assert covered >= 0.93 * 400


def test_a_p99_has_no_upper_bound_below_368_samples() -> None:
    assert percentile_interval([float(n) for n in range(367)], 0.99)[1] is None
    assert percentile_interval([float(n) for n in range(368)], 0.99)[1] == 367.0
    assert percentile_interval([], 0.5) == (None, None)


def point(**changes: object) -> LoadPoint:
    fields: dict[str, object] = {
        "arm": "adapter", "offered_rate": 4.0, "achieved_rate": 4.0, "duration_s": 10.0, "sent": 10, "succeeded": 10,
        "ttft_ms": Percentiles(p99=200), "latency_ms": Percentiles(p50=100, p90=200, p95=300, p99=500), "max_in_flight": 1,
        "send_delay_p99_ms": 0.0, "goodput": 4.0, "completion_tokens_per_s": 1.0, "holds_slo": True,
    }  # fmt: skip
    return LoadPoint.model_validate(fields | changes)


@pytest.mark.parametrize(
    ("p99", "succeeded", "holds"),
    [(1000.0, 10, True), (1000.1, 10, False), (500.0, 9, True), (500.0, 8, False), (None, 0, False)],
)
def test_the_objective_is_on_latency_and_on_errors(p99: float | None, succeeded: int, holds: bool) -> None:
    latency = Percentiles(p50=1, p99=p99)
    assert (missed(SLO, point(succeeded=succeeded, latency_ms=latency)) == ()) is holds


def accuracy(lost: int, won: int, before: int = 100) -> AccuracyUnderLoad:
    after = before - lost + won
    return AccuracyUnderLoad(rows=300, loaded=after / 300, unloaded=before / 300, lost=lost, won=won, ratio=after / before)


def test_accuracy_is_missed_where_rows_are_lost_by_more_than_chance() -> None:
    slo = parse_slo("joint_accuracy_ratio>=0.99")
    assert missed(slo, point(accuracy=accuracy(lost=3, won=1))) == ()  # 0.98, but three flips to one
    assert missed(slo, point(accuracy=accuracy(lost=12, won=1))) == ("joint_accuracy_ratio 0.89 below 0.99",)
    assert missed(slo, point()) == ("joint_accuracy_ratio was not measured, wanted 0.99",)


def test_an_slo_is_read_and_written_in_one_form() -> None:
    text = "p99_ms<=5000,error_rate<=0.01,joint_accuracy_ratio>=0.99"
    assert describe(parse_slo(text)) == text
    assert parse_slo(" ttft_p95_ms <= 300 ").limits == {"ttft_p95_ms": 300}
    assert describe(Slo()) == "p99_ms<=5000,error_rate<=0.01"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p98_ms<=5", "there is no objective 'p98_ms'"),
        ("p99_ms>=5", "p99_ms is written p99_ms<=VALUE"),
        ("joint_accuracy_ratio<=0.9", "joint_accuracy_ratio>=VALUE"),
        ("p99_ms<5", "p99_ms<=VALUE"),
        ("p99_ms", "'p99_ms' can't be read"),
        ("p99_ms<=fast", "'fast' is no number"),
        ("p99_ms<=nan", "no limit"),
        ("p99_ms<=-5", "greater than 0"),
        ("error_rate<=2", "less than or equal to 1"),
        ("p99_ms<=5,p99_ms<=6", "given twice"),
        ("", "no objective is named"),
    ],
)
def test_an_slo_that_makes_no_sense_is_refused_with_the_known_names(text: str, said: str) -> None:
    with pytest.raises(InputError, match="ttft_p99_ms") as refused:
        parse_slo(text)
    assert said in str(refused.value)


def test_a_step_is_stopped_only_when_it_is_lost_whatever_comes() -> None:
    rule = stop_rule(Slo(p99_ms=1000, error_rate=0.01), 300)
    assert rule is not None
    assert (rule.limit_s, rule.allowed) == (1.0, 6)  # 3 above the 297th, and 3 failures
    assert stop_rule(parse_slo("error_rate<=0.1"), 300) is None
    assert stop_rule(parse_slo("p99_ms<=5"), 300) is None  # any number of failures is allowed


def test_a_step_is_void_when_the_generator_was_late() -> None:
    assert is_void(send_delay_p99_ms=51, latency_ms=Percentiles(p50=1000))
    assert not is_void(send_delay_p99_ms=50, latency_ms=Percentiles(p50=1000))
    assert not is_void(send_delay_p99_ms=50, latency_ms=Percentiles())


def test_the_figures_of_a_step_come_from_its_replies_and_its_errors_stand_apart() -> None:
    samples = (
        Sample(0.0, 0.0, 0.5, first_token=0.2, completion_tokens=10, last_token=0.47, gaps=(0.03,) * 9, prompt_tokens=20),
        Sample(1.0, 1.02, 2.5, first_token=1.3, completion_tokens=10, last_token=2.2, gaps=(0.1,) * 9, prompt_tokens=20),
        Sample(2.0, 2.0, 4.0, first_token=3.0, completion_tokens=10, last_token=3.9, gaps=(0.1,) * 9, prompt_tokens=20),
        Sample(3.0, 3.0, 33.0, error="timeout"),
    )
    found = load_point(StepRecord(samples, max_in_flight=2, cpu=0.1), arm="base", rate=1.0, slo=SLO)
    assert (found.sent, found.succeeded, found.errors) == (4, 3, {"timeout": 1})
    assert found.latency_ms.p99 == pytest.approx(2000)
    assert found.ttft_ms.p50 == pytest.approx(300)
    assert found.tpot_ms.p50 == pytest.approx(100)
    assert found.tpot_ms.p99 == pytest.approx(100)
    assert found.itl_ms.p50 == pytest.approx(100)
    assert found.duration_s == pytest.approx(4.0)
    assert found.achieved_rate == pytest.approx(3 / 4)
    assert found.goodput == pytest.approx(1 / 4)
    assert found.completion_tokens_per_s == pytest.approx(30 / 4)
    assert found.prompt_tokens_per_s == pytest.approx(60 / 4)
    assert found.send_delay_p99_ms == pytest.approx(20)
    assert found.missed == ("p99_ms 2000 above 1000", "error_rate 0.25 above 0.1")
    assert not found.holds_slo
    assert not found.void


def test_requests_abandoned_with_a_lost_step_count_with_the_age_they_had() -> None:
    samples = (Sample(0.0, 0.0, 0.5, 0.2, 10), Sample(1.0, 1.0, 4.0, error="abandoned"))
    found = load_point(StepRecord(samples, 2, stopped_early="lost"), arm="base", rate=1.0, slo=SLO)
    assert (found.succeeded, found.abandoned, found.errors) == (1, 1, {})
    assert found.latency_ms.p99 == pytest.approx(3000)
    assert found.missed[0] == "ended early: lost"
