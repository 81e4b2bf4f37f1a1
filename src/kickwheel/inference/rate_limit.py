"""Requests and tokens a minute, kept on our side: a service that has to say 429 has already been asked too much.

Sliding windows, exact: no sixty seconds hold more than the limit. Of the libraries, aiolimiter is for asyncio only, and
pyrate-limiter stores a weight of n as n entries, which a limit of a million tokens makes a million.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_S = 60.0
LONGEST_HOLD_S = 60.0
"""A service that wants to be left alone for longer ends the rows that ask it (:mod:`~kickwheel.inference.patient_client`)."""


@dataclass
class _Use:
    at: float
    units: float


class _Window:
    """Units used in the last minute. ``limit`` 0: no limit."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._uses: deque[_Use] = deque()

    def wait_s(self, now: float, units: float) -> float:
        """Seconds until so many units fit; 0: they fit now. More than the limit fit where nothing else is."""
        while self._uses and self._uses[0].at <= now - WINDOW_S:
            self._uses.popleft()
        excess = sum(use.units for use in self._uses) + min(units, self._limit) - self._limit
        if not self._limit or excess <= 0:
            return 0.0
        for use in self._uses:
            excess -= use.units
            if excess <= 0:
                return use.at + WINDOW_S - now
        return self._uses[-1].at + WINDOW_S - now

    def use(self, now: float, units: float) -> _Use:
        use = _Use(now, units)
        if self._limit:
            self._uses.append(use)
        return use


class RateLimiter:
    """Waits until a request may be sent. May be used from many threads.

    Args:
        requests_per_minute, tokens_per_minute: 0: no limit.
        clock: seconds that never go back.
        sleep: waits that many seconds.
    """

    def __init__(
        self, requests_per_minute: int, tokens_per_minute: int, *, clock: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        self._requests = _Window(requests_per_minute)
        self._tokens = _Window(tokens_per_minute)
        self._clock = clock
        self._sleep = sleep
        self._held_until = 0.0
        self._lock = threading.Lock()

    def acquire(self, tokens: int) -> Callable[[int], None]:
        """Wait for room for one request of so many tokens and take it; returns what is told how many it really had."""
        while True:
            with self._lock:
                now = self._clock()
                wait = max(self._held_until - now, self._requests.wait_s(now, 1), self._tokens.wait_s(now, tokens))
                if wait <= 0:
                    self._requests.use(now, 1)
                    use = self._tokens.use(now, tokens)
                    return lambda really: setattr(use, "units", really)
            self._sleep(wait)

    def hold(self, seconds: float) -> None:
        """Send nothing for so long: the service has said when it wants to hear from us again."""
        if seconds <= LONGEST_HOLD_S:
            with self._lock:
                self._held_until = max(self._held_until, self._clock() + seconds)
