"""Starts model servers for measurements and puts load on them: the clocks and processes behind search, arms and cold start."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from kickwheel.errors import StageFailed
from kickwheel.inference.held_server_adapter import FRAME_SCHEMA, warm_up_requests
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.startup_phases import startup_phases
from kickwheel.inference.startup_watch_adapter import StartupWatch
from kickwheel.inference.switch_adapter import warm_server
from kickwheel.inference.vllm_adapter import RunningServer, engine_of, start_server
from kickwheel.settings import ServerSettings, ThroughputSettings
from kickwheel.throughput.arms import Block
from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.cold_start import WARM_ROUNDS
from kickwheel.throughput.cores_adapter import CorePlan, only_on, own_cores, plan_cores
from kickwheel.throughput.engine_search import cost_per_1000
from kickwheel.throughput.generator_adapter import ProcessGenerator
from kickwheel.throughput.watch_adapter import MetricsWatch
from schemas.engine import ArmName, EngineFigures, EngineSettings, StartMeasured, WarmUp
from schemas.throughput import LoadPoint
from schemas.utterance import Utterance


@dataclass(frozen=True)
class Load:
    """What every measured server is given: the same texts, number of requests, and reply length.

    Attributes:
        at_once: requests sent all at once: their rate is the most that a server gives.
        rate: offered rate of the latency step; 0: half of the first server's rate, the same for all then.
        requests: of the latency step.
        tokens: that every reply is made to have; 0: as many as the model writes.
    """

    at_once: int
    rate: float
    requests: int
    tokens: int


@dataclass(frozen=True)
class EngineBench:
    """One model and its adapters on this machine; every server that it starts is gone when the call returns.

    Attributes:
        adapters: served name and folder; the first is the one that arms compare.
        work: logs of the servers, one a start, kept.
    """

    settings: ServerSettings
    base_path: Path
    rows: Sequence[Utterance]
    load: Load
    work: Path
    adapters: tuple[tuple[str, Path], ...] = ()
    seed: int = 0
    versions: list[str] = field(default_factory=list, compare=False)

    def server_version(self) -> str:
        """Engine and version of the servers that were started; unknown before the first."""
        return self.versions[-1] if self.versions else "vLLM"

    def figures(self, number: int, engine: EngineSettings, rate: float) -> EngineFigures:
        """Start a server with these settings and measure it at ``rate``, or at half of its own highest rate for 0.

        Raises:
            ServerFailed, ServiceError, StageFailed: it did not start, or did not answer.
        """
        with self.server(f"trial-{number}", engine=engine) as server:
            self._warm(server)
            model = self.adapters[0][0] if self.adapters else server.base_name
            bench, arm = self._bench(server, self.seed), Arm("adapter" if self.adapters else "base", (model,), self.load.tokens)
            at_once = bench.burst(arm)
            if not at_once.succeeded:
                raise StageFailed(f"no request was answered: {at_once.errors}")
            offered = rate or round(at_once.achieved_rate / 2, 2)
            step = bench.at_rate(arm, offered)
            return EngineFigures(
                startup_s=server.startup_s or 0.0,
                rate=at_once.achieved_rate,
                at_rate=offered,
                latency_ms=step.latency_ms,
                ttft_ms=step.ttft_ms,
                requests=at_once.sent + step.sent,
                errors=at_once.sent - at_once.succeeded + sum(step.errors.values()),
                memory_gib=memory_gib(server),
                cost_per_1000=cost_per_1000(at_once.achieved_rate, self.settings.price_per_hour),
            )

    def started(self, way: WarmUp, number: int, *, cache: Path | None = None) -> StartMeasured:
        """Start a server, warm it one way, and ask it one request of each kind, then the same again and again.

        Args:
            cache: folder of the compile caches; None: the machine's own.
        """
        log = self.work / f"start-{number}-{way}.log"
        filled = cache is None or cache.is_dir()
        environment = {"VLLM_CACHE_ROOT": str(cache)} if cache is not None else {}
        with StartupWatch(log) as watch, self.server(log.stem, environment=environment) as server:
            begin = time.monotonic()
            token = server.endpoint.first_token(server.base_name) if way != "none" else 0.0
            if way == "full":
                warm_server(server.url, server.base_name, warm_up_requests("full"))
            warmed = time.monotonic() - begin
            kinds = warm_up_requests("full")
            first = [_seconds(server, request) for request in kinds]
            warm = [_seconds(server, request) for _ in range(WARM_ROUNDS) for request in kinds]
            phases = startup_phases(watch.lines, ready_s=server.startup_s or 0.0, first_token_s=token or first[0])
            return StartMeasured(
                warm_up=way,
                caches="filled" if filled else "empty",
                phases=phases,
                ready_s=server.startup_s or 0.0,
                warm_up_s=warmed if way != "none" else 0.0,
                first_ms=tuple(1000 * value for value in first),
                warm_ms=tuple(1000 * value for value in warm),
                memory_gib=memory_gib(server),
            )

    def cold_burst(self, requests: int) -> LoadPoint:
        """All at once, as the first thing that a server is asked; with the memory that it took."""
        with self.server("start-burst") as server:
            pid = server.process.pid if server.process else None
            watch = MetricsWatch(server.url, every_s=0.5, pid=pid, gpus=self.settings.device == "gpu")
            bench = replace(self._bench(server, self.seed), watch=watch)
            arm = Arm("base", (server.base_name,), self.load.tokens)
            return bench.burst(arm, requests)

    @contextmanager
    def arm_servers(
        self, names: Sequence[ArmName], merged_path: Path | None
    ) -> Iterator[dict[ArmName, tuple[RunningServer, Arm]]]:
        """Every arm with the server that serves it; all are up at the same time, since the arms alternate. Only one is asked
        at a time.
        """
        found: dict[ArmName, tuple[RunningServer, Arm]] = {}
        first = self.adapters[0][0] if self.adapters else ""
        with ExitStack() as stack:
            if {"base", "adapter", "mixed", "adapter_structured"} & set(names):
                main = stack.enter_context(self.server("arms-adapter"))
                self._warm(main)
                found["base"] = (main, Arm("base", (main.base_name,), self.load.tokens))
                found["adapter"] = (main, Arm("adapter", (first,), self.load.tokens))
                found["mixed"] = (main, Arm("mixed", tuple(name for name, _ in self.adapters), self.load.tokens))
                found["adapter_structured"] = (main, Arm("adapter_structured", (first,), 0, FRAME_SCHEMA))
            if "adapter_no_prefix_cache" in names:
                engine = (engine_of(self.settings) or self._plain()).model_copy(update={"prefix_caching": False})
                other = stack.enter_context(self.server("arms-no-prefix-cache", engine=engine))
                self._warm(other)
                found["adapter_no_prefix_cache"] = (other, Arm("adapter_no_prefix_cache", (first,), self.load.tokens))
            if "merged" in names and merged_path is not None:
                whole = stack.enter_context(self.server("arms-merged", base_path=merged_path, served_name="merged"))
                warm_server(whole.url, whole.base_name)
                found["merged"] = (whole, Arm("merged", (whole.base_name,), self.load.tokens))
            yield {name: found[name] for name in names if name in found}

    def block(self, server: RunningServer, arm: Arm, name: ArmName, number: int, rate: float) -> Block:
        """One arm in one block: the block's own texts, the same for every arm."""
        bench = self._bench(server, self.seed + number)
        return Block(name, number, bench.burst(arm), bench.at_rate(arm, rate))

    @contextmanager
    def server(
        self,
        name: str,
        *,
        engine: EngineSettings | None = None,
        base_path: Path | None = None,
        served_name: str = "",
        environment: dict[str, str] | None = None,
    ) -> Iterator[RunningServer]:
        """A server for the time of the block, on its own cores where there are enough; adapters are loaded."""
        with only_on(self._cores().server):
            server = start_server(
                self.settings.model_copy(update={"port": 0, "url": ""}),
                base_path=base_path or self.base_path,
                log=self.work / f"{name}.log",
                enable_lora=base_path is None,
                served_name=served_name,
                environment=environment,
                engine=engine,
            )
        self.versions.append(server.version)
        try:
            for adapter, folder in self.adapters if base_path is None else ():
                server.load_adapter(adapter, folder)
            yield server
        finally:
            server.stop()

    def _warm(self, server: RunningServer) -> None:
        warm_server(server.url, server.base_name, warm_up_requests("full")[:2])
        for name, _ in self.adapters:
            warm_server(server.url, name, warm_up_requests("full")[:1])

    def _bench(self, server: RunningServer, seed: int) -> Bench:
        settings = ThroughputSettings(burst=self.load.at_once, min_requests=self.load.requests, step_s=0.5)
        generator = ProcessGenerator(server.url, cores=self._cores().generator, request_limit_s=120.0)
        return Bench(generator, self.rows, settings, seed)

    def _cores(self) -> CorePlan:
        return plan_cores("auto", own_cores(), ours=True, on_cpu=self.settings.device == "cpu", local=True)

    def _plain(self) -> EngineSettings:
        return EngineSettings(max_num_seqs=self.settings.max_num_seqs, block_size=None)


def memory_gib(server: RunningServer) -> float | None:
    """Memory of a server that we started: of its process group on a CPU (resident), of the card on a GPU; else None."""
    if server.process is None:
        return None
    if server.settings.device == "gpu":
        if shutil.which("nvidia-smi") is None:
            return None
        query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
        return sum(float(value) for value in said) / 1024 if said else None
    total = 0
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == server.process.pid:
                total += process.memory_info().rss
        except (ProcessLookupError, psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total / 2**30


def _seconds(server: RunningServer, request: ChatRequest) -> float:
    client = OpenAIChatClient(server.url, server.base_name, "", 120.0)
    try:
        begin = time.perf_counter()
        client.complete(request)
        return time.perf_counter() - begin
    finally:
        client.close()
