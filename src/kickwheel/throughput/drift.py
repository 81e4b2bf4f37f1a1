"""Whether a version starts worse than the one before it (white paper C10)."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.throughput import Burst, LoadPoint

P95_ALARM = 0.30
MEMORY_ALARM = 0.15
"""Shares by which P95 and memory may grow."""


@dataclass(frozen=True)
class BurstBaseline:
    """What is kept of the burst of an earlier version. ``run``: the MLflow run that holds it."""

    run: str
    p95_ms: float
    memory_mib: float | None = None


def judged_burst(point: LoadPoint, requests: int, baseline: BurstBaseline | None, *, cold: bool) -> Burst:
    """The burst beside that of the version before; without one there is nothing to raise an alarm about."""
    p95, memory = point.latency_ms.p95, memory_of(point)
    p95_change = p95 / baseline.p95_ms - 1 if baseline and p95 is not None and baseline.p95_ms > 0 else None
    memory_change = memory / baseline.memory_mib - 1 if baseline and memory and baseline.memory_mib else None
    alarms = [] if point.succeeded else [f"not one of the first {requests} requests was answered"]
    if p95_change is not None and p95_change > P95_ALARM:
        alarms.append(f"P95 of the first {requests} requests is up {100 * p95_change:.0f} %, to {p95:.0f} ms")
    if memory_change is not None and memory_change > MEMORY_ALARM:
        alarms.append(f"memory is up {100 * memory_change:.0f} %, to {memory:.0f} MiB")
    return Burst(
        requests=requests,
        cold=cold,
        point=point,
        compared_with=baseline.run if baseline else "",
        p95_change=p95_change,
        memory_change=memory_change,
        alarms=tuple(alarms),
    )


def memory_of(point: LoadPoint) -> float | None:
    """MiB: the GPUs' where the server has some, else its processes'."""
    if point.server is None:
        return None
    return point.server.gpu_memory_mib if point.server.gpu_memory_mib is not None else point.server.process_memory_mib
