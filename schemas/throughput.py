"""Stage 4, throughput: what the served adapter holds under load. Times in milliseconds, rates in requests a second."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate


class Slo(Contract):
    """Service level objective of one load step."""

    p99_ms: float = Field(default=5000.0, gt=0, description="End-to-end latency, from the scheduled send time")
    error_rate: Rate = 0.01


class Percentiles(Contract):
    """Percentiles of one latency, in milliseconds; None where nothing succeeded."""

    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None


class LoadPoint(Contract):
    """One load step of one arm. Latency counts from the scheduled send time (no coordinated omission)."""

    arm: Literal["base", "adapter"]
    offered_rate: float
    achieved_rate: float = Field(description="Successful replies over the time from first schedule to last reply")
    duration_s: float
    sent: int
    succeeded: int
    errors: dict[str, int] = Field(default_factory=dict)
    ttft_ms: Percentiles
    latency_ms: Percentiles
    send_delay_p99_ms: float = Field(description="How late the generator itself was")
    max_in_flight: int
    goodput: float = Field(description="Replies a second that met the SLO's latency")
    completion_tokens_per_s: float
    holds_slo: bool
    void: bool = Field(
        default=False, description="P99 send delay above 5 % of the measured P50 latency: the generator was too slow"
    )


class ThroughputReport(Contract):
    """What the throughput stage hands on. 'Not measured' is a result, with its reason."""

    schema_version: Literal["1"] = "1"
    measured: bool
    not_measured_reason: str | None = None
    server: str = Field(default="", description="Engine, version and device")
    engine_settings: dict[str, str] = Field(default_factory=dict)
    startup_s: float | None = None
    warmup_s: float | None = None
    slo: Slo = Slo()
    points: tuple[LoadPoint, ...] = ()

    def largest_rate(self, arm: str) -> float | None:
        """Largest offered rate at which the SLO held, with every lower step holding it too; None if not measured."""
        if not self.measured:
            return None
        best = 0.0
        for point in sorted((p for p in self.points if p.arm == arm), key=lambda p: p.offered_rate):
            if point.void or not point.holds_slo:
                break
            best = point.offered_rate
        return best
