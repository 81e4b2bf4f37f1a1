"""The model server's engine: settings, how they did, what a start costs, and arms under the same load.

Times in seconds unless a name says ms; rates in requests a second; memory in GiB.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract
from schemas.throughput import Burst, Percentiles

Device = Literal["cpu", "gpu"]


class EngineSettings(Contract):
    """Settings of vLLM's engine that change speed and not answers. None: vLLM's own choice.

    The white paper starts from 256 sequences and blocks of 16 tokens (F11).
    """

    max_num_seqs: int = Field(default=256, ge=1, description="Largest batch, sequences")
    max_num_batched_tokens: int | None = Field(default=None, ge=1, description="Tokens of one step of the engine")
    block_size: int | None = Field(default=16, ge=1, description="Tokens of a KV block")
    chunked_prefill: bool | None = Field(default=None, description="Long prompts in pieces, between the decode steps of others")
    prefix_caching: bool | None = Field(default=None, description="KV blocks of equal prompt beginnings are kept and shared")
    graph_sizes: tuple[int, ...] = Field(default=(), description="GPU: batch sizes to capture as CUDA graphs; empty: vLLM's")
    eager: bool = Field(default=False, description="GPU: neither compilation nor graphs. The CPU server is always eager")
    kv_space_gib: int | None = Field(default=None, ge=1, description="CPU: memory of the KV cache")
    gpu_memory_share: float | None = Field(
        default=None, gt=0, le=1, description="GPU: share of its memory that the server takes"
    )


class EngineFigures(Contract):
    """What a server with given settings did under the search's load."""

    startup_s: float = Field(description="From process start to healthy")
    rate: float = Field(description="Replies a second, all requests sent at once: the most that the settings give")
    at_rate: float = Field(description="Offered rate at which the latencies were taken, the same for every trial")
    latency_ms: Percentiles = Field(description="End to end at that rate, from the scheduled send time")
    ttft_ms: Percentiles = Percentiles()
    requests: int = Field(description="Requests behind the figures, both loads together")
    errors: int = Field(default=0, description="Of those, how many failed")
    memory_gib: float | None = Field(default=None, description="CPU: process tree; GPU: the card's memory in use")
    cost_per_1000: float | None = Field(
        description="Price of 1,000 requests at `rate`, by the price an hour of the settings; None: nothing was answered"
    )


class EngineTrial(Contract):
    """One start of the search."""

    number: int = Field(ge=1)
    changed: str = Field(description="What differs from the best settings before it")
    settings: EngineSettings = Field(description="What the server was started with")
    figures: EngineFigures | None = None
    failed: str = Field(default="", description="Why there are no figures")
    on_front: bool = Field(default=False, description="No other trial has both a higher rate and a lower P99")


class EngineSearchReport(Contract):
    """The search over engine settings."""

    schema_version: Literal["1"] = "1"
    server: str = Field(description="Engine and version")
    device: Device = Field(description="What the server ran on")
    model: str
    trials: tuple[EngineTrial, ...] = Field(description="In the order of the starts")
    chosen: int = Field(description="Number of the trial whose settings the profile holds; 0: none could be measured")
    why: str = Field(description="Why these")
    price_per_hour: float = Field(description="Of the serving machine")

    @property
    def front(self) -> tuple[EngineTrial, ...]:
        """Trials of the Pareto front, by rising rate."""
        return tuple(
            sorted((t for t in self.trials if t.on_front and t.figures), key=lambda t: t.figures.rate if t.figures else 0)
        )


class ServerProfile(Contract):
    """Engine settings as a file that ``kickwheel serve-model --profile`` takes."""

    schema_version: Literal["1"] = "1"
    name: str = Field(description="For people")
    device: Device = Field(description="What it is for")
    model: str = Field(default="", description="What they were measured with")
    server: str = Field(default="", description="Engine and version they were measured on")
    engine: EngineSettings
    figures: EngineFigures | None = None


class StartupPhase(Contract):
    """One phase of a start, on our own clock."""

    name: Literal["import", "configure", "engine", "weights", "compile", "kv_cache", "graphs", "serve", "first_token"] = Field(
        description="What the time went into"
    )
    seconds: float = Field(ge=0, description="On our own clock")
    reported_s: float | None = Field(default=None, description="vLLM's own figure for the same, where its log has one")


WarmUp = Literal["none", "forward", "full"]


class StartMeasured(Contract):
    """One start of the server with one way of warming it."""

    warm_up: WarmUp = Field(
        description="none; forward: tokenizer and one forward pass; full: every kind of request until steady"
    )
    caches: Literal["empty", "filled"] = Field(description="Compile caches when it began")
    phases: tuple[StartupPhase, ...] = Field(description="In order; together the time to the first token")
    ready_s: float = Field(description="From process start to healthy")
    warm_up_s: float = Field(description="The warm-up itself")
    first_ms: tuple[float, ...] = Field(description="Latency of the first request of each kind after warm-up, kinds in order")
    warm_ms: tuple[float, ...] = Field(description="Latencies of the same requests later")
    memory_gib: float | None = Field(
        default=None, description="Of the server's processes when it was warm; the card's on a GPU"
    )


class ColdStartRow(Contract):
    """Starts of one way of warming, together."""

    warm_up: WarmUp = Field(description="How they were warmed")
    starts: int = Field(description="How many")
    ready_s: float = Field(description="From process start to healthy, mean")
    warm_up_s: float = Field(description="The warm-up itself, mean")
    first_ms: Percentiles = Field(description="First requests of each kind, all starts together")
    warm_ms: Percentiles = Field(description="The same requests later")
    first_requests: int = Field(description="How many requests first_ms is of: with fewer than 100 its P99 is the largest")
    memory_gib: float | None = Field(description="Mean; None: not measured")


class ColdStartReport(Contract):
    """What a start costs and what warming buys (white paper C2, C5)."""

    schema_version: Literal["1"] = "1"
    server: str = Field(description="Engine and version")
    device: Device = Field(description="What the server ran on")
    model: str
    kinds: tuple[str, ...] = Field(description="Kinds of requests, in the order of first_ms")
    starts: tuple[StartMeasured, ...] = Field(description="Every start, in order")
    rows: tuple[ColdStartRow, ...] = Field(description="The table of the report")
    cache_reuse_s: float | None = Field(default=None, description="Seconds that filled compile caches save; None: not measured")
    cache_reuse_reason: str = Field(default="", description="Why it was not measured")
    burst: Burst | None = Field(
        default=None, description="All at once on one more server that had answered nothing, against the version before"
    )


ArmName = Literal["base", "adapter", "merged", "mixed", "adapter_no_prefix_cache", "adapter_structured"]


class Ratio(Contract):
    """One arm over another, by the geometric mean of paired blocks with a 95 % interval (Student's t on logarithms)."""

    of: ArmName = Field(description="The arm above the line")
    over: ArmName = Field(description="The arm below it")
    figure: Literal["rate", "p50_ms", "p99_ms"] = Field(description="Of what")
    ratio: float = Field(description="Geometric mean over blocks")
    low: float | None = Field(description="Lower end of the interval; None: one block has none")
    high: float | None = Field(description="Upper end of the interval")
    blocks: int = Field(description="Pairs behind it")


class ArmFigures(Contract):
    """An arm over all its blocks."""

    arm: ArmName = Field(description="What was served")
    rate: float = Field(description="Replies a second, all requests sent at once; mean over blocks")
    latency_ms: Percentiles = Field(description="At the offered rate, all blocks together")
    ttft_ms: Percentiles = Field(description="Time to the first token, at the same rate")
    requests: int = Field(description="Both loads, all blocks")
    errors: dict[str, int] = Field(default_factory=dict)


class ArmsReport(Contract):
    """Arms under the same load in alternating order, so that drift cancels."""

    schema_version: Literal["1"] = "1"
    server: str = Field(description="Engine and version")
    device: Device = Field(description="What the server ran on")
    model: str
    offered_rate: float
    blocks: int = Field(description="Rounds through all arms, every other one backwards")
    output_tokens: int = Field(description="Tokens that every reply was made to have; 0: as many as the model writes")
    arms: tuple[ArmFigures, ...] = Field(description="In the order in which they were asked for")
    ratios: tuple[Ratio, ...] = Field(description="Every arm over base, and merged over adapter")
    left_out: dict[str, str] = Field(default_factory=dict, description="Arms not measured, and why")
    recommendation: Literal["merged", "adapter", "not decided"] = Field(description="What to serve")
    why: str = Field(description="By which figures")


class EngineReports(Contract):
    """The newest report of each measurement of the engine that a domain has."""

    search: EngineSearchReport | None = None
    arms: ArmsReport | None = None
    cold_start: ColdStartReport | None = None


class ServerRecord(Contract):
    """A model server that a ``kickwheel serve-model`` process holds; written when it is ready, removed at its end."""

    schema_version: Literal["1"] = "1"
    pid: int = Field(description="Of the process that holds it: SIGTERM there ends the server")
    started: float = Field(description="When that process was created, seconds since 1970: a pid alone may be another's")
    url: str = Field(description="Base URL, /v1 included")
    model: str = Field(description="Served name of the base or merged model")
    adapters: tuple[str, ...] = Field(default=(), description="Served names of its adapters")
    version: str = Field(description="Engine and version")
    log: str = Field(description="Its log file")
    startup_s: float | None = Field(description="From process start to healthy; None: it ran before")
    warm_up_s: float = Field(description="Loading adapters and warming, seconds")
    held_for: str = Field(default="", description="Domain whose promotion started it, and ends it; empty: a person did")
