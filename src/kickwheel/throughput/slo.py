"""Whether a load step met its objective, and whether the step counts at all."""

from __future__ import annotations

from schemas.throughput import Percentiles, Slo

VOID_SHARE = 0.05
"""P99 send delay above this share of the measured P50 latency: the generator was too slow to say anything."""


def holds_slo(slo: Slo, *, sent: int, succeeded: int, latency_ms: Percentiles) -> bool:
    """P99 of the replies within the limit, and errors within their share. A step without a reply never holds."""
    if succeeded == 0 or latency_ms.p99 is None:
        return False
    return latency_ms.p99 <= slo.p99_ms and (sent - succeeded) / sent <= slo.error_rate


def is_void(*, send_delay_p99_ms: float, latency_ms: Percentiles) -> bool:
    """Whether the generator itself was too late. Without a reply there is nothing to compare with: not void."""
    return latency_ms.p50 is not None and send_delay_p99_ms > VOID_SHARE * latency_ms.p50
