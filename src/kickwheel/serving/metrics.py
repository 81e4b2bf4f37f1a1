"""What the service tells Prometheus.

Three signals are never dropped (white paper F8): request entry path, time to first byte, and downstream failure code. Each is
counted for every request, whatever became of it.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LATENCY_BUCKETS = (
    *(0.001, 0.002, 0.003, 0.004, 0.006, 0.01, 0.015, 0.02, 0.03),
    *(round(0.05 * step, 2) for step in range(1, 20)),
)
"""20 buckets of 50 ms, of 950 ms and more in the last (F8), the first of them in finer steps."""


class ServiceMetrics:
    """The metrics of one service. Labels take few values: a path is a route's template, a token's name is not among them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "kickwheel_requests", "Requests by entry path and status", ("path", "method", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "kickwheel_request_seconds", "Seconds to the last byte", ("path",), buckets=LATENCY_BUCKETS, registry=self.registry
        )
        self.first_byte = Histogram(
            "kickwheel_first_byte_seconds",
            "Seconds to the first byte",
            ("path",),
            buckets=LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.model_seconds = Histogram(
            "kickwheel_model_seconds",
            "Seconds that a version took",
            ("version",),
            buckets=LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.downstream_failures = Counter(
            "kickwheel_downstream_failures",
            "Failed attempts to ask a version, by HTTP status or connect, timeout, no_completion, failed",
            ("version", "code"),
            registry=self.registry,
        )
        self.answers = Counter(
            "kickwheel_answers",
            "Answers by version, arm and outcome: understood, out_of_scope, no_frame, degraded",
            ("version", "arm", "outcome"),
            registry=self.registry,
        )
        self.low_confidence = Counter(
            "kickwheel_low_confidence", "Answers below the confidence threshold", ("version",), registry=self.registry
        )
        self.cache = Counter("kickwheel_cache_lookups", "Lookups in the response cache", ("result",), registry=self.registry)
        self.shadow = Counter(
            "kickwheel_shadow_answers", "Shadow questions: answered, failed, dropped", ("outcome",), registry=self.registry
        )
        self._gauges: list[Gauge] = []

    def follow(self, name: str, told: str, value: Callable[[], float]) -> None:
        """A gauge that is read when Prometheus asks."""
        gauge = Gauge(f"kickwheel_{name}", told, registry=self.registry)
        gauge.set_function(value)
        self._gauges.append(gauge)

    def text(self) -> bytes:
        """Prometheus' text format."""
        return generate_latest(self.registry)
