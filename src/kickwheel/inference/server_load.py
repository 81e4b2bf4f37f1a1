"""What a model server says about its own load: vLLM's ``/metrics``, as far as draining needs it."""

from __future__ import annotations

_GAUGES = ("vllm:num_requests_running", "vllm:num_requests_waiting")


def requests_left(metrics: str) -> int | None:
    """Requests that are running or waiting, over all engines; None where the page does not say.

    ``vllm:num_requests_waiting_by_reason`` counts some of them a second time and is left out.
    """
    values = [
        float(line.rsplit(" ", 1)[1]) for line in metrics.splitlines() if line.partition("{")[0].partition(" ")[0] in _GAUGES
    ]
    return round(sum(values)) if values else None
