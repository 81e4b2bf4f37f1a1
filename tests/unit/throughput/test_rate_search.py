"""The search against servers that are a formula: whatever they do, it ends, and promises nothing that it did not see."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel.throughput.search import largest_rate
from schemas.throughput import LoadPoint, Percentiles, Slo

SLO = Slo(p99_ms=1000.0, error_rate=0.01)


def point(rate: float, p99: float, **changes: object) -> LoadPoint:
    fields: dict[str, object] = {
        "arm": "adapter", "offered_rate": rate, "achieved_rate": rate, "duration_s": 10.0, "sent": 100, "succeeded": 100,
        "ttft_ms": Percentiles(), "latency_ms": Percentiles(p50=p99 / 2, p99=p99), "send_delay_p99_ms": 0.0,
        "max_in_flight": 1, "goodput": rate, "completion_tokens_per_s": 1.0, "holds_slo": False,
    }  # fmt: skip
    return LoadPoint.model_validate(fields | changes)


def queue(capacity: float, service_ms: float = 100.0) -> Callable[[float], LoadPoint]:
    """M/M/1: the P99 of the time in the system is ln(100) over what is free of the capacity."""

    def measure(rate: float) -> LoadPoint:
        p99 = 1e6 if rate >= capacity else service_ms + 1000 * 4.605 / (capacity - rate)
        return point(rate, p99)

    return measure


def true_rate(capacity: float, service_ms: float = 100.0) -> float:
    return capacity - 1000 * 4.605 / (1000.0 - service_ms)


@given(st.floats(6, 2000), st.floats(0.5, 64), st.sampled_from([0.02, 0.05, 0.2]))
def test_the_answer_is_within_the_tolerance_of_the_truth(capacity: float, start: float, tolerance: float) -> None:
    found = largest_rate(queue(capacity), SLO, start=start, tolerance=tolerance, max_points=60)
    truth = true_rate(capacity)
    assert found.ended_by == "tolerance"
    assert found.largest_rate <= truth * (1 + 1e-9)
    assert found.largest_rate * (1 + tolerance) >= truth * (1 - 1e-9)
    assert found.first_miss is not None
    assert found.first_miss > truth * (1 - 1e-9)


@given(st.integers(0, 2**32), st.floats(0.0, 0.4), st.integers(1, 25))
@settings(max_examples=150)
def test_with_noise_it_ends_within_its_points_and_names_only_a_rate_that_held(seed: int, noise: float, most: int) -> None:
    rng = random.Random(seed)
    model = queue(rng.uniform(6, 300))
    held: list[float] = []
    rates: list[float] = []

    def measure(rate: float) -> LoadPoint:
        seen = model(rate)
        p99 = (seen.latency_ms.p99 or 0) * rng.lognormvariate(0, noise)
        rates.append(rate)
        if p99 <= 1000:
            held.append(rate)
        return point(rate, p99)

    found = largest_rate(measure, SLO, start=2.0, max_points=most)
    assert found.points == len(rates) <= most
    assert found.largest_rate == max(held, default=0.0)
    assert all(0.05 <= rate <= 4096 for rate in rates)


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_with_little_noise_two_searches_agree(seed: int) -> None:
    rng = random.Random(seed)
    model = queue(100.0)

    def measure(rate: float) -> LoadPoint:
        return point(rate, (model(rate).latency_ms.p99 or 0) * rng.lognormvariate(0, 0.1))

    first, second = (largest_rate(measure, SLO, start=2.0, tolerance=0.02).largest_rate for _ in range(2))
    assert first == pytest.approx(second, rel=0.05)


def test_latency_without_load_that_misses_ends_it_before_any_load() -> None:
    unloaded = point(0.0, 2345.0, achieved_rate=0.5)

    def never(rate: float) -> LoadPoint:
        raise AssertionError(rate)

    found = largest_rate(never, SLO, unloaded=unloaded)
    assert (found.largest_rate, found.ended_by, found.unloaded_p99_ms, found.points) == (0.0, "unloaded_misses", 2345.0, 0)
    assert "p99_ms 2345 above 1000" in found.why


def test_without_load_neither_rate_nor_accuracy_is_asked_for() -> None:
    slo = Slo(p99_ms=1000.0, achieved_ratio=0.9, joint_accuracy_ratio=0.99)
    found = largest_rate(lambda rate: point(rate, 5000.0), slo, unloaded=point(0.0, 10.0), lowest=1.0, start=1.0)
    assert found.ended_by == "lowest_rate"
    assert found.largest_rate == 0.0


def test_a_server_that_holds_everything_ends_it_at_the_highest_rate() -> None:
    found = largest_rate(lambda rate: point(rate, 10.0), SLO, start=3.0, highest=20.0)
    assert (found.largest_rate, found.ended_by, found.first_miss) == (20.0, "highest_rate", None)


def test_a_start_that_misses_is_halved_until_it_holds() -> None:
    rates: list[float] = []

    def measure(rate: float) -> LoadPoint:
        rates.append(rate)
        return queue(10.0)(rate)

    found = largest_rate(measure, SLO, start=64.0, tolerance=0.5)
    assert rates[:9] == [64, 64, 32, 32, 16, 16, 8, 8, 4]
    assert found.largest_rate == pytest.approx(4.0)


def test_a_dead_server_ends_it_with_what_held() -> None:
    found = largest_rate(lambda rate: point(rate, 10.0, server_died=rate > 5), SLO, start=2.0)
    assert (found.largest_rate, found.ended_by) == (4.0, "server_died")


def test_a_step_of_a_late_generator_is_measured_again_and_never_held() -> None:
    rates: list[float] = []

    def measure(rate: float) -> LoadPoint:
        rates.append(rate)
        return point(rate, 10.0, void=rate > 5)

    found = largest_rate(measure, SLO, start=2.0)
    assert rates == [2, 4, 8, 8]
    assert (found.largest_rate, found.ended_by) == (4.0, "generator_too_slow")


def test_a_miss_that_is_none_when_seen_again_halves_nothing() -> None:
    rates: list[float] = []

    def measure(rate: float) -> LoadPoint:
        rates.append(rate)
        return point(rate, 5000.0) if rates == [2, 4, 8] else queue(100.0)(rate)

    found = largest_rate(measure, SLO, start=2.0, tolerance=0.05)
    assert rates[:5] == [2, 4, 8, 8, 16]
    assert found.largest_rate == pytest.approx(true_rate(100.0), rel=0.05)


def test_a_miss_that_the_last_step_allowed_saw_counts_as_one() -> None:
    found = largest_rate(queue(10.0), SLO, start=2.0, max_points=3)
    assert (found.largest_rate, found.first_miss, found.ended_by, found.points) == (4.0, 8.0, "points", 3)


def test_bounds_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="lowest <= start <= highest"):
        largest_rate(queue(10), SLO, start=0.0)
