"""Limits a minute, on a clock of the test's own."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kickwheel.inference.rate_limit import RateLimiter


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


def limiter(requests: int, tokens: int) -> tuple[RateLimiter, Clock]:
    clock = Clock()
    return RateLimiter(requests, tokens, clock=clock, sleep=clock.sleep), clock


def test_without_limits_nobody_waits() -> None:
    made, clock = limiter(0, 0)
    for _ in range(1_000):
        made.acquire(10_000)
    assert clock.now == 1_000.0


def test_requests_beyond_the_limit_wait_until_the_first_is_a_minute_old() -> None:
    """argilla-io/distilabel 1014."""
    made, clock = limiter(3, 0)
    times = []
    for _ in range(7):
        made.acquire(1)
        times.append(clock.now - 1_000.0)
        clock.now += 1
    assert times == pytest.approx([0, 1, 2, 60, 61, 62, 120])


@given(
    requests=st.integers(0, 5),
    tokens=st.integers(0, 100),
    sizes=st.lists(st.tuples(st.integers(1, 40), st.floats(0, 30)), min_size=1, max_size=30),
)
def test_no_sixty_seconds_hold_more_than_the_limits(requests: int, tokens: int, sizes: list[tuple[int, float]]) -> None:
    made, clock = limiter(requests, tokens)
    sent: list[tuple[float, int]] = []
    for size, pause in sizes:
        made.acquire(size)
        sent.append((clock.now, size))
        clock.now += pause
    for start, _ in sent:
        within = [size for at, size in sent if start <= at < start + 60 - 1e-6]
        assert not requests or len(within) <= requests
        assert not tokens or sum(within) <= tokens or len(within) == 1


def test_what_a_request_really_had_is_what_counts() -> None:
    made, clock = limiter(0, 100)
    tell = made.acquire(90)
    tell(10)
    made.acquire(90)
    assert clock.now == 1_000.0
    made.acquire(90)
    assert clock.now == 1_060.0


def test_a_request_larger_than_the_limit_goes_when_nothing_else_does() -> None:
    made, clock = limiter(0, 100)
    made.acquire(5_000)
    made.acquire(5_000)
    assert clock.now == 1_060.0


def test_when_a_service_wants_quiet_nothing_is_sent() -> None:
    made, clock = limiter(0, 0)
    made.hold(7.0)
    made.hold(3.0)
    made.acquire(1)
    assert clock.now == 1_007.0


def test_a_quiet_longer_than_anybody_waits_is_left_to_the_rows() -> None:
    made, clock = limiter(0, 0)
    made.hold(3_600.0)
    made.acquire(1)
    assert clock.now == 1_000.0


def test_requests_keep_their_order_in_time() -> None:
    made, clock = limiter(2, 50)
    times = []
    for _ in range(9):
        made.acquire(20)
        times.append(clock.now)
    assert all(before <= after for before, after in pairwise(times))
