"""The three measurements of the engine from begin to end: resumable by start or block, and put together into reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel

from kickwheel.inference.server_profile import save_profile
from kickwheel.inference.vllm_adapter import RunningServer
from kickwheel.throughput.arms import Block, arm_figures, measure_blocks, ratios, recommend
from kickwheel.throughput.bench import Arm
from kickwheel.throughput.cold_start import KINDS, cache_reuse, measure_starts, rows
from kickwheel.throughput.drift import BurstBaseline, judged_burst
from kickwheel.throughput.engine_bench_adapter import EngineBench
from kickwheel.throughput.engine_search import best_of, search
from kickwheel.throughput.trial_log import TrialLog
from schemas.engine import (
    ArmName,
    ArmsReport,
    ColdStartReport,
    EngineFigures,
    EngineSearchReport,
    EngineSettings,
    EngineTrial,
    ServerProfile,
    StartMeasured,
    WarmUp,
)
from schemas.throughput import LoadPoint

Told = Callable[[int, int], None]


class Measured(Protocol):
    """What is measured, and where; see :class:`kickwheel.cli.engine_place.EnginePlace`."""

    @property
    def bench(self) -> EngineBench:
        """Starts servers and loads them."""
        ...

    @property
    def folder(self) -> Path:
        """For logs and records."""
        ...

    @property
    def of(self) -> str:
        """Fingerprint of the inputs."""
        ...

    @property
    def domain(self) -> str:
        """Name of the domain."""
        ...

    def merged(self) -> Path:
        """Merged weights."""
        ...


class _BlockRow(BaseModel):
    """A block on disk."""

    at_once: LoadPoint
    at_rate: LoadPoint


def run_search(place: Measured, starts: int, profile: Path, told: Told) -> EngineSearchReport:
    """Search, and write the best settings to ``profile``; trials of a killed search are taken from its log."""
    log = TrialLog(place.folder, "trials", place.of, EngineTrial)
    bench = place.bench
    rate = bench.load.rate

    def measure(number: int, settings: EngineSettings) -> EngineFigures:
        nonlocal rate
        figures = bench.figures(number, settings, rate)
        rate = rate or figures.at_rate
        return figures

    known = log.results
    if known and not rate:
        rate = next((trial.figures.at_rate for trial in known if trial.figures), 0.0)

    def keep(trial: EngineTrial) -> None:
        if trial.figures is not None:  # what failed is tried again by the next run: it may have been the machine
            log.add(str(trial.number), trial)
        told(trial.number, starts)

    trials = search(bench.settings.device, measure, starts=starts, known=known, keep=keep)
    best = best_of(trials)
    server = bench.server_version()
    report = EngineSearchReport(
        server=server,
        device=bench.settings.device,
        model=bench.base_path.name,
        trials=tuple(trials),
        chosen=best.number if best else 0,
        why=_why(best, trials),
        price_per_hour=bench.settings.price_per_hour,
    )
    if best is not None:
        name = f"{place.domain} on this machine's {bench.settings.device}"
        save_profile(
            ServerProfile(
                name=name,
                device=report.device,
                model=report.model,
                server=server,
                engine=best.settings,
                figures=best.figures,
            ),
            profile,
        )
    return report


def run_arms(place: Measured, names: Sequence[ArmName], left_out: dict[str, str], blocks: int, told: Told) -> ArmsReport:
    """Measure the arms; blocks of a killed run are taken from its log. All servers are up while any block is to be measured."""
    log = TrialLog(place.folder, "blocks", place.of, _BlockRow)
    rates = TrialLog(place.folder, "rate", place.of, _Rate)
    bench = place.bench
    with ExitStack() as stack:
        servers: dict[ArmName, tuple[RunningServer, Arm]] | None = None

        def up() -> dict[ArmName, tuple[RunningServer, Arm]]:
            nonlocal servers
            if servers is None:
                merged = place.merged() if "merged" in names else None
                servers = stack.enter_context(bench.arm_servers(names, merged))
                name, (server, arm) = next(iter(servers.items()))
                first = bench.block(server, arm, name, 999, bench.load.rate or 1.0)  # connections, allocator: not counted
                rates.once("rate", lambda: _Rate(rate=bench.load.rate or round(first.at_once.achieved_rate / 4, 2) or 0.5))
            return servers

        def measure(name: ArmName, number: int) -> Block:
            def now() -> _BlockRow:
                server, arm = up()[name]
                block = bench.block(server, arm, name, number, rates.results[0].rate)
                return _BlockRow(at_once=block.at_once, at_rate=block.at_rate)

            row = log.once(f"{name} {number}", now)
            return Block(name, number, row.at_once, row.at_rate)

        found = measure_blocks(names, blocks, measure, progress=told)
    compared = ratios(found, names)
    figures = tuple(arm_figures(found, name) for name in names)
    errors = {kind: count for arm in figures if arm.arm in ("adapter", "merged") for kind, count in arm.errors.items()}
    word, why = recommend(compared, len(bench.adapters), errors)
    return ArmsReport(
        server=bench.server_version(),
        device=bench.settings.device,
        model=bench.base_path.name,
        offered_rate=rates.results[0].rate,
        blocks=blocks,
        output_tokens=bench.load.tokens,
        arms=figures,
        ratios=compared,
        left_out=left_out,
        recommendation=word,
        why=why,
    )


def run_cold_start(
    place: Measured,
    ways: Sequence[WarmUp],
    rounds: int,
    told: Told,
    *,
    empty_caches: bool = False,
    at_once: int = 0,
    baseline: Callable[[str], BurstBaseline | None] = lambda _server: None,
) -> ColdStartReport:
    """Measure starts; those of a killed run are taken from its log.

    Args:
        at_once: requests that one more server is asked at once before anything else; 0: none.
        baseline: that burst of the version before, by :func:`burst_words` of this one's server.
    """
    log = TrialLog(place.folder, "starts", place.of, StartMeasured)
    bench = place.bench
    cache = bench.work / "empty-caches"
    extra = []
    if empty_caches and bench.settings.device == "gpu":
        extra = [log.once("empty", lambda: bench.started("none", 99, cache=cache))]
    found = measure_starts(
        ways,
        rounds,
        lambda way, number: log.once(f"{way} {number}", lambda: bench.started(way, number, cache=cache if extra else None)),
        progress=told,
    )
    starts = (*extra, *found)
    burst = None
    if at_once:
        bursts = TrialLog(place.folder, "burst", place.of, LoadPoint)
        point = bursts.once(f"burst {at_once}", lambda: bench.cold_burst(at_once))
        words = burst_words(bench.server_version(), bench.settings.device)
        burst = judged_burst(point, at_once, baseline(words), cold=True)
    saved = cache_reuse(starts)
    reason = ""
    if saved is None:
        on_cpu = bench.settings.device == "cpu"
        reason = "the CPU server is started without compilation" if on_cpu else "no start with empty caches was asked for"
    return ColdStartReport(
        server=bench.server_version(),
        device=bench.settings.device,
        model=bench.base_path.name,
        kinds=KINDS,
        starts=starts,
        rows=rows(found),
        cache_reuse_s=saved,
        cache_reuse_reason=reason,
        burst=burst,
    )


def burst_words(server: str, device: str) -> str:
    """What bursts are compared by: engine, version, device and arm, as the load tests of a domain say it."""
    return f"{server} on {device}, base"


class _Rate(BaseModel):
    rate: float


def _why(best: EngineTrial | None, trials: Sequence[EngineTrial]) -> str:
    if best is None or best.figures is None:
        return "no settings could be measured"
    measured = sum(trial.figures is not None for trial in trials)
    return (
        f"the highest rate of {measured} measured settings, {best.figures.rate:.1f} requests/s; of those within 3 % of it the "
        f"lowest P99"
    )
