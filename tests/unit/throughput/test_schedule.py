"""Schedules: how many requests are due, and when."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kickwheel.errors import InputError
from kickwheel.throughput.schedule import (
    burst_schedule,
    choose_texts,
    constant_schedule,
    poisson_schedule,
    ramp_schedule,
    read_trace,
    steps_schedule,
)


def test_a_constant_schedule_offers_its_rate() -> None:
    assert constant_schedule(4.0, 1.0) == (0.0, 0.25, 0.5, 0.75)
    assert len(constant_schedule(0.5, 10.0)) == 5
    assert constant_schedule(0.1, 1.0) == (0.0,)


@pytest.mark.parametrize(("rate", "duration"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)])
def test_a_schedule_that_sends_nothing_is_refused(rate: float, duration: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        constant_schedule(rate, duration)


@given(st.floats(0.5, 500), st.floats(0.5, 20), st.integers(0, 99))
def test_poisson_arrivals_offer_exactly_the_rate_in_rising_order(rate: float, seconds: float, seed: int) -> None:
    schedule = poisson_schedule(rate, seconds, seed)
    assert len(schedule) == len(constant_schedule(rate, seconds))
    assert list(schedule) == sorted(schedule)
    assert schedule[0] >= 0
    assert schedule[-1] <= seconds
    assert schedule == poisson_schedule(rate, seconds, seed)


def test_poisson_gaps_vary_as_those_of_independent_users_do() -> None:
    schedule = poisson_schedule(100, 50, 1)
    gaps = [after - before for before, after in pairwise(schedule)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert deviation / mean == pytest.approx(1.0, abs=0.1)  # the coefficient of variation of an exponential


def test_steps_follow_one_another_without_a_pause() -> None:
    schedule = steps_schedule([50, 100, 500], 2.0)
    assert [sum(2 * n <= at < 2 * n + 2 for at in schedule) for n in range(3)] == [100, 200, 1000]
    assert list(schedule) == sorted(schedule)


@given(st.floats(1, 50), st.floats(1, 50), st.floats(1, 20))
def test_a_ramp_offers_the_mean_of_its_rates(first: float, last: float, seconds: float) -> None:
    schedule = ramp_schedule(first, last, seconds)
    assert len(schedule) == max(1, round((first + last) / 2 * seconds))
    assert list(schedule) == sorted(schedule)
    assert schedule[0] == 0
    assert schedule[-1] <= seconds + 1e-6
    half = sum(at <= seconds / 2 for at in schedule)
    assert half == pytest.approx((first + (first + last) / 2) / 2 * seconds / 2, abs=1.5)


def test_a_burst_is_all_at_once() -> None:
    assert burst_schedule(200) == (0.0,) * 200
    with pytest.raises(ValueError, match="at least one"):
        burst_schedule(0)


def test_a_trace_is_replayed_from_its_begin_and_as_fast_as_wanted(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows = [{"at_s": 12.0, "text": "同步订单", "user": "u1"}, {"at_s": 10.0}, {"at_s": 11.0, "text": "b"}]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    assert read_trace(path, speed=2.0) == ((0.0, 0.5, 1.0), [None, "b", "同步订单"])


@pytest.mark.parametrize("content", ['{"at_s": -1}', '{"text": "a"}', "", "no json"])
def test_a_trace_that_does_not_hold_is_refused_by_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"trace\.jsonl"):
        read_trace(path)


def test_texts_are_chosen_by_the_seed_and_each_comes_once_before_any_comes_again() -> None:
    texts = [str(number) for number in range(10)]
    chosen = choose_texts(texts, 25, seed=3)
    assert chosen == choose_texts(texts, 25, seed=3)
    assert chosen != choose_texts(texts, 25, seed=4)
    assert sorted(chosen[:10]) == sorted(chosen[10:20]) == texts
    assert len(chosen) == 25
    with pytest.raises(ValueError, match="no utterances"):
        choose_texts([], 1, seed=0)
