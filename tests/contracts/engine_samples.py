"""Instances of the engine's contracts."""

from __future__ import annotations

from schemas.base import Contract
from schemas.engine import (
    ArmFigures,
    ArmsReport,
    ColdStartReport,
    ColdStartRow,
    EngineFigures,
    EngineReports,
    EngineSearchReport,
    EngineSettings,
    EngineTrial,
    Ratio,
    ServerProfile,
    ServerRecord,
    StartMeasured,
    StartupPhase,
)
from schemas.throughput import Percentiles

_LATENCY = Percentiles(p50=740.0, p90=790.0, p95=801.0, p99=805.0)
_FIGURES = EngineFigures(
    startup_s=26.4, rate=10.2, at_rate=4.0, latency_ms=_LATENCY, requests=128, memory_gib=1.9, cost_per_1000=0.0027
)
_ENGINE = EngineSettings(max_num_seqs=64, max_num_batched_tokens=1024, graph_sizes=(1, 16), prefix_caching=True)

ENGINE: tuple[Contract, ...] = (
    ServerProfile(name="dataops on two cores", device="cpu", model="smollm2", engine=_ENGINE, figures=_FIGURES),
    EngineSearchReport(
        server="vLLM 0.32.0",
        device="cpu",
        model="smollm2",
        trials=(
            EngineTrial(number=1, changed="the start", settings=_ENGINE, figures=_FIGURES, on_front=True),
            EngineTrial(number=2, changed="block_size 8", settings=_ENGINE, failed="the model server ended while it started"),
        ),
        chosen=1,
        why="the only one",
        price_per_hour=0.1,
    ),
    ColdStartReport(
        server="vLLM 0.32.0",
        device="cpu",
        model="smollm2",
        kinds=("plain", "structured"),
        starts=(
            StartMeasured(
                warm_up="none",
                caches="filled",
                phases=(StartupPhase(name="weights", seconds=5.3, reported_s=5.28),),
                ready_s=26.0,
                warm_up_s=0.0,
                first_ms=(900.0, 1500.0),
                warm_ms=(300.0, 310.0),
            ),
        ),
        rows=(
            ColdStartRow(
                warm_up="none",
                starts=1,
                ready_s=26.0,
                warm_up_s=0.0,
                first_ms=_LATENCY,
                warm_ms=_LATENCY,
                first_requests=2,
                memory_gib=None,
            ),
        ),
        cache_reuse_reason="the CPU server compiles nothing",
    ),
    ArmsReport(
        server="vLLM 0.32.0",
        device="cpu",
        model="smollm2",
        offered_rate=2.0,
        blocks=4,
        output_tokens=12,
        arms=(ArmFigures(arm="merged", rate=10.0, latency_ms=_LATENCY, ttft_ms=_LATENCY, requests=64, errors={"timeout": 1}),),
        ratios=(Ratio(of="merged", over="adapter", figure="rate", ratio=1.6, low=1.4, high=1.8, blocks=4),),
        left_out={"mixed": "one adapter was given"},
        recommendation="merged",
        why="1.60 times the rate",
    ),
    EngineReports(),
    ServerRecord(
        pid=4711,
        started=1_790_000_000.5,
        url="http://127.0.0.1:8000/v1",
        model="smollm2",
        version="vLLM 0.32.0",
        log="logs/vllm.log",
        startup_s=26.4,
        warm_up_s=1.5,
    ),
)
