"""What vLLM's ``/metrics`` says of a load step: gauges at their largest, counters by their difference.

Names are those of vLLM's V1 engine (vllm/v1/metrics/loggers.py), the same in the versions 0.24 to 0.33. What a server does not
have is absent, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client.parser import text_string_to_metric_families

from kickwheel.throughput.ports import Instant, Scrape
from schemas.throughput import LoadInstant, ServerFigures

RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"
KV_USED = "vllm:kv_cache_usage_perc"
PREEMPTIONS = "vllm:num_preemptions_total"
PREFIX_QUERIES = "vllm:prefix_cache_queries_total"
PREFIX_HITS = "vllm:prefix_cache_hits_total"
QUEUE_TIME = "vllm:request_queue_time_seconds"
PREFILL_TIME = "vllm:request_prefill_time_seconds"
DECODE_TIME = "vllm:request_decode_time_seconds"

GPU_MEMORY = "gpu_memory_mib"
PROCESS_MEMORY = "process_memory_mib"
"""Not of the page: what the watcher sees on this machine."""

_TIMES = tuple(f"{name}_{part}" for name in (QUEUE_TIME, PREFILL_TIME, DECODE_TIME) for part in ("sum", "count"))
_WANTED = frozenset((RUNNING, WAITING, KV_USED, PREEMPTIONS, PREFIX_QUERIES, PREFIX_HITS, *_TIMES))


def parse_metrics(page: str) -> dict[str, float]:
    """The figures that we use, summed over engines (labels). A page that is no Prometheus text gives none."""
    lines = [line for line in page.splitlines() if line.split("{", 1)[0].split(" ", 1)[0] in _WANTED]
    found: dict[str, float] = {}
    try:
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            for sample in family.samples:
                found[sample.name] = found.get(sample.name, 0.0) + sample.value
    except ValueError:
        return {}
    return found


def server_figures(scrapes: Sequence[Scrape]) -> ServerFigures | None:
    """The figures of a step from what was read before, during and after it; None where nothing could be read."""
    seen = [scrape.values for scrape in scrapes if scrape.values]
    if not seen:
        return None
    queries, hits = _grown(seen, PREFIX_QUERIES), _grown(seen, PREFIX_HITS)
    return ServerFigures(
        queue_max=_most(seen, WAITING),
        running_max=_most(seen, RUNNING),
        kv_used_max=_most(seen, KV_USED),
        preemptions=_grown(seen, PREEMPTIONS),
        prefix_hit_rate=hits / queries if queries and hits is not None else None,
        queue_ms=_mean_ms(seen, QUEUE_TIME),
        prefill_ms=_mean_ms(seen, PREFILL_TIME),
        decode_ms=_mean_ms(seen, DECODE_TIME),
        gpu_memory_mib=_most(seen, GPU_MEMORY),
        process_memory_mib=_most(seen, PROCESS_MEMORY),
        scrapes=len(seen),
    )


def timeline(instants: Sequence[Instant], scrapes: Sequence[Scrape], begin: float) -> tuple[LoadInstant, ...]:
    """What client and server saw, joined: each moment of the client with the page read nearest to it, within a second."""
    joined = []
    for instant in instants:
        near = min(scrapes, key=lambda scrape: abs(scrape.at - begin - instant.at), default=None)
        values = near.values if near and abs(near.at - begin - instant.at) <= 1.0 else {}
        joined.append(
            LoadInstant(
                at_s=round(instant.at, 3),
                sent=instant.sent,
                finished=instant.finished,
                in_flight=instant.in_flight,
                running=values.get(RUNNING),
                waiting=values.get(WAITING),
                kv_used=values.get(KV_USED),
            )
        )
    return tuple(joined)


def _most(seen: Sequence[dict[str, float]], name: str) -> float | None:
    return max((values[name] for values in seen if name in values), default=None)


def _grown(seen: Sequence[dict[str, float]], name: str) -> float | None:
    """By how much a counter grew; a server that was started again begins at 0."""
    values = [page[name] for page in seen if name in page]
    return max(0.0, values[-1] - values[0]) if len(values) > 1 else None


def _mean_ms(seen: Sequence[dict[str, float]], name: str) -> float | None:
    total, count = _grown(seen, f"{name}_sum"), _grown(seen, f"{name}_count")
    return 1000 * total / count if count and total is not None else None
