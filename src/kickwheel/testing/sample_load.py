"""The load test of the made-up lap (:mod:`kickwheel.testing.sample_report`): every figure is invented."""

from __future__ import annotations

from schemas.throughput import (
    AccuracyUnderLoad,
    Burst,
    LoadInstant,
    LoadPoint,
    Percentiles,
    RateSearch,
    ServerFigures,
    Slo,
    ThroughputReport,
)


def sample_throughput() -> ThroughputReport:
    """Base and adapter at four rates; the adapter misses the largest."""
    steps = {
        "base": ((1, 1.0, 412, 690, 811), (2, 2.0, 455, 801, 1004), (4, 3.98, 604, 1320, 1711), (8, 7.7, 1190, 2810, 3620)),
        "adapter": (
            (1, 1.0, 498, 804, 960),
            (2, 1.99, 590, 1105, 1402),
            (4, 3.9, 1010, 2650, 3480),
            (8, 5.8, 4120, 7600, 8150),
        ),
    }
    points = tuple(
        LoadPoint(
            arm="base" if arm == "base" else "adapter",
            offered_rate=offered,
            achieved_rate=achieved,
            duration_s=10.0,
            sent=int(10 * offered),
            succeeded=int(10 * offered),
            ttft_ms=Percentiles(p50=p50 / 5, p90=p95 / 5, p95=p95 / 5, p99=p99 / 4),
            latency_ms=Percentiles(p50=p50, p90=(p50 + p95) / 2, p95=p95, p99=p99),
            send_delay_p99_ms=6.0,
            max_in_flight=int(2 + offered * p50 / 500),
            goodput=achieved if p99 <= 5000 else achieved * 0.52,
            completion_tokens_per_s=achieved * 19,
            holds_slo=p99 <= 5000,
            missed=() if p99 <= 5000 else (f"p99_ms {p99} above 5000",),
            accuracy=_under_load() if arm == "adapter" else None,
            server=ServerFigures(queue_max=max(0.0, offered * p50 / 1000 - 4), running_max=offered * p50 / 1000, scrapes=10),
            timeline=_timeline(offered, achieved),
            quantiles_ms=tuple(p50 * 0.6 + (p99 - p50 * 0.6) * (number / 50) ** 3 for number in range(51)),
            client_cpu=0.02,
        )
        for arm, rows in steps.items()
        for offered, achieved, p50, p95, p99 in rows
    )
    unloaded = points[4].model_copy(update={"offered_rate": 0.0, "schedule": "concurrency 1", "max_in_flight": 1})
    return ThroughputReport(
        measured=True,
        server="vLLM 0.32.0, CPU",
        engine_settings={"dtype": "bfloat16", "max_num_seqs": "64", "max_lora_rank": "16"},
        startup_s=27.4,
        warmup_s=14.9,
        points=points,
        unloaded=(unloaded,),
        searches=(
            RateSearch(
                arm="adapter",
                slo=Slo(),
                largest_rate=4.0,
                first_miss=8.0,
                tolerance=1.0,
                unloaded_p99_ms=960.0,
                ended_by="tolerance",
                why="4 requests/s held, 8 missed (p99_ms 8150 above 5000)",
                points=4,
            ),
        ),
        burst=Burst(
            requests=32,
            point=points[7].model_copy(update={"offered_rate": 0.0, "schedule": "burst 32"}),
            compared_with="0123456789abcdef",
            p95_change=0.34,
            memory_change=0.02,
            alarms=("P95 of the first 32 requests is up 34 %, to 7600 ms",),
        ),
        cores="server and generator share 2 cores: the server computes on them and would lose one of them",
    )


def _under_load() -> AccuracyUnderLoad:
    return AccuracyUnderLoad(rows=16, loaded=0.375, unloaded=0.4375, lost=2, won=1, ratio=6 / 7)


def _timeline(offered: float, achieved: float) -> tuple[LoadInstant, ...]:
    return tuple(
        LoadInstant(
            at_s=float(second),
            sent=int(offered * second),
            finished=int(achieved * second * 0.9),
            in_flight=int((offered - achieved * 0.9) * second),
            running=min(6.0, (offered - achieved * 0.9) * second),
            waiting=max(0.0, (offered - achieved * 0.9) * second - 6.0),
            kv_used=0.04,
        )
        for second in range(11)
    )
