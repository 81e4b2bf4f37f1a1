"""Warm-up: dummy requests until the server's latency is steady, so that nobody's first request pays for compilation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kickwheel.inference.ports import ChatClient, ChatRequest

STEADY = 0.2
"""Two successive latencies within this share of the larger one count as steady."""

MOST = 6
"""Requests of one kind at most."""


def warm_up(client: ChatClient, requests: Sequence[ChatRequest], *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Send each kind of request that will be used until its latency is steady; returns the seconds that it all took.

    Give one request a kind, and one with a JSON Schema among them where structured output will be used: its first use
    compiles kernels (14 s on two CPU cores, white paper C2).

    Raises:
        ServiceError: what the client raises.
    """
    begin = clock()
    for request in requests:
        before = float("inf")
        for _ in range(MOST):
            sent = clock()
            client.complete(request)
            latency = clock() - sent
            if before != float("inf") and abs(before - latency) <= STEADY * max(before, latency):
                break
            before = latency
    return clock() - begin
