"""Stage 4, throughput: what the served adapter holds under load. Times in milliseconds, rates in requests a second."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from schemas.base import Contract, Rate


class Slo(Contract):
    """Service level objective of one load step. What is None is no objective; at least one must be one.

    ``NAME_ms`` is the end-to-end latency from the scheduled send time; ``ttft``, the time to the first token, counts from there
    too; ``tpot`` is the time per output token after the first, ``itl`` the time between two pieces of a reply.
    """

    p50_ms: float | None = Field(default=None, gt=0, description="Most that the P50 of the latency may be; so the next ones")
    p90_ms: float | None = Field(default=None, gt=0, description="Latency, P90")
    p95_ms: float | None = Field(default=None, gt=0, description="Latency, P95")
    p99_ms: float | None = Field(default=5000.0, gt=0, description="End-to-end latency, from the scheduled send time")
    ttft_p50_ms: float | None = Field(default=None, gt=0, description="Time to first token, P50")
    ttft_p95_ms: float | None = Field(default=None, gt=0, description="Time to first token, P95")
    ttft_p99_ms: float | None = Field(default=None, gt=0, description="Time to first token, P99")
    tpot_p50_ms: float | None = Field(default=None, gt=0, description="Time per output token, P50")
    tpot_p95_ms: float | None = Field(default=None, gt=0, description="Time per output token, P95")
    tpot_p99_ms: float | None = Field(default=None, gt=0, description="Time per output token, P99")
    itl_p99_ms: float | None = Field(default=None, gt=0, description="Time between two pieces of a reply, P99")
    error_rate: Rate | None = Field(default=0.01, description="Largest share of requests without a reply")
    joint_accuracy_ratio: Rate | None = Field(
        default=None, description="Least joint frame accuracy of the replies, over that of the same texts without load"
    )
    achieved_ratio: Rate | None = Field(default=None, description="Least achieved rate over offered rate")

    @model_validator(mode="after")
    def _one_at_least(self) -> Slo:
        if not self.limits:
            raise ValueError("an SLO needs at least one objective")
        return self

    @property
    def limits(self) -> dict[str, float]:
        """Objectives that are set, by name."""
        return {name: value for name, value in self.model_dump().items() if value is not None}


class Percentiles(Contract):
    """Percentiles of one latency, in milliseconds; None where nothing succeeded."""

    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    intervals: dict[str, tuple[float | None, float | None]] = Field(
        default_factory=dict,
        description="95 % confidence interval of each percentile; None: too few replies to bound it on that side",
    )


class AccuracyUnderLoad(Contract):
    """Joint frame accuracy of a step's replies, beside that of the same texts without load, reply by reply."""

    rows: int = Field(ge=0, description="Replies that had a reply to the same text without load")
    loaded: Rate = Field(description="Share of those replies whose whole frame is right")
    unloaded: Rate = Field(description="The same share of the replies without load")
    lost: int = Field(ge=0, description="Replies right without load and wrong under it")
    won: int = Field(ge=0, description="Replies wrong without load and right under it")
    ratio: float | None = Field(description="loaded over unloaded; None where nothing was right without load")


class ServerFigures(Contract):
    """What the server itself said of a step: differences of its counters, largest values of its gauges. None: not said."""

    queue_max: float | None = Field(default=None, description="Most requests that waited in the engine")
    running_max: float | None = Field(default=None, description="Most requests in one batch")
    kv_used_max: float | None = Field(default=None, description="Largest share of KV blocks in use")
    preemptions: float | None = Field(default=None, description="Requests put back for want of KV blocks")
    prefix_hit_rate: float | None = Field(default=None, description="Share of looked-up prompt tokens that were cached")
    queue_ms: float | None = Field(default=None, description="Mean time that a request waited in the engine")
    prefill_ms: float | None = Field(default=None, description="Mean prefill time of a request")
    decode_ms: float | None = Field(default=None, description="Mean decode time of a request")
    gpu_memory_mib: float | None = Field(default=None, description="Most memory in use on all GPUs of this machine together")
    process_memory_mib: float | None = Field(default=None, description="Most resident memory of the server's processes")
    scrapes: int = Field(default=0, description="Times that its metrics were read during the step")


class LoadInstant(Contract):
    """A moment of a step: what was due, under way and done, and what the server said then."""

    at_s: float = Field(description="Seconds since the step began")
    sent: int
    finished: int = Field(description="Requests that had ended by then, well or not")
    in_flight: int = Field(description="Requests under way, as the client sees it")
    running: float | None = Field(default=None, description="Requests in the server's batch")
    waiting: float | None = Field(default=None, description="Requests that wait in the engine")
    kv_used: float | None = Field(default=None, description="Share of KV blocks in use")


class LoadPoint(Contract):
    """One load step of one arm. Latency counts from the scheduled send time (no coordinated omission)."""

    arm: str = Field(pattern=r"^[a-z][a-z0-9_+-]*$", description="What was served: base, adapter, merged, mixed …")
    offered_rate: float
    achieved_rate: float = Field(description="Successful replies over the time from first schedule to last reply")
    duration_s: float
    sent: int
    succeeded: int
    errors: dict[str, int] = Field(default_factory=dict)
    ttft_ms: Percentiles
    latency_ms: Percentiles
    tpot_ms: Percentiles = Percentiles()
    itl_ms: Percentiles = Percentiles()
    send_delay_p99_ms: float = Field(description="How late the generator itself was")
    max_in_flight: int
    mean_in_flight: float | None = Field(default=None, description="Mean of the requests under way over the step")
    goodput: float = Field(description="Replies a second that met the SLO's latency")
    completion_tokens_per_s: float
    prompt_tokens_per_s: float | None = Field(default=None, description="Of the server's usage field, as are completion tokens")
    holds_slo: bool
    void: bool = Field(
        default=False, description="P99 send delay above 5 % of the measured P50 latency: the generator was too slow"
    )
    schedule: str = Field(default="constant", description="How requests were due: constant, poisson, burst, concurrency 1 …")
    missed: tuple[str, ...] = Field(default=(), description="Objectives that were missed, in words")
    accuracy: AccuracyUnderLoad | None = Field(default=None, description="None: not measured")
    stopped_early: str = Field(default="", description="Why the step was ended before its time; empty: it was not")
    abandoned: int = Field(
        default=0,
        description="Requests under way when the step was ended early; they count with their age then",
    )
    server_died: bool = Field(default=False, description="It did not answer any more when the step had ended")
    server: ServerFigures | None = None
    timeline: tuple[LoadInstant, ...] = Field(default=(), description="Once a second")
    quantiles_ms: tuple[float, ...] = Field(default=(), description="Latency at 0, 2, 4 … 100 % of the replies: its CDF")
    client_cpu: float | None = Field(default=None, description="Share of one core that the generator's process used")

    @property
    def steady(self) -> bool:
        """Whether requests were due at one rate throughout: what figures against a rate can be drawn of."""
        return self.schedule in ("constant", "poisson")


LoadKind = Literal["constant", "poisson", "steps", "ramp", "burst", "trace", "concurrency"]


class LoadShape(Contract):
    """One load test: what is sent when. Open loop except `concurrency`."""

    kind: LoadKind = Field(description="How requests are due")
    rates: tuple[float, ...] = Field(
        default=(), description="Requests a second: one (constant, poisson), several (steps), first and last (ramp)"
    )
    seconds: float = Field(default=60.0, gt=0, description="How long it lasts; of steps: each of them")
    count: int = Field(default=0, ge=0, description="Requests of a burst; of concurrency: under way at a time")
    requests: int = Field(default=300, ge=1, description="Requests of a closed loop (concurrency), in all")
    trace: str = Field(default="", description="JSONL file of a trace, a line {at_s, text}")
    speed: float = Field(default=1.0, gt=0, description="Trace: 2 replays it in half the time")

    @model_validator(mode="after")
    def _whole(self) -> LoadShape:
        wanted = {"constant": 1, "poisson": 1, "ramp": 2}.get(self.kind)
        if wanted is not None and len(self.rates) != wanted:
            raise ValueError(f"{self.kind} takes {'one rate' if wanted == 1 else 'two rates, the first and the last'}")
        if self.kind == "steps" and not self.rates:
            raise ValueError("steps take at least one rate")
        if any(rate <= 0 for rate in self.rates):
            raise ValueError("every rate must be above 0")
        if self.kind in ("burst", "concurrency") and self.count < 1:
            raise ValueError(f"{self.kind} takes a number of requests of at least 1")
        if self.kind == "trace" and not self.trace:
            raise ValueError("trace takes a file")
        return self


class RateRequest(Contract):
    """What `kickwheel throughput` is asked. None: as the domain's settings say."""

    slo: Slo | None = None
    url: str = Field(default="", description="Base URL of a server that runs; empty: that of the settings, or one is started")
    model: str = Field(default="", description="Served name; empty: the adapter of the newest lap, or the server's base")
    base: bool = Field(default=False, description="Load the untuned base, not the adapter")
    start_rate: float | None = Field(default=None, gt=0, description="First rate of the search")
    tolerance: float = Field(
        default=0.05, gt=0, description="The rate that misses is at most this share above the one that held"
    )
    min_requests: int = Field(default=300, ge=1, description="Requests of a step at least")
    max_points: int = Field(default=24, ge=1, description="Steps of the search at most")
    step_s: float = Field(default=10.0, gt=0, description="Seconds of a step at least")
    unloaded_requests: int = Field(default=100, ge=1, description="Requests sent one at a time")
    burst: int = Field(default=0, ge=0, description="Requests sent all at once first; 0: none")
    arrivals: Literal["constant", "poisson"] | None = Field(default=None, description="Gaps between requests")
    cores: Literal["auto", "separate", "shared"] | None = Field(default=None, description="Of server and generator")
    structured: bool | None = Field(default=None, description="Ask for replies under the frames' JSON Schema")
    load: LoadShape | None = Field(default=None, description="One load test of this shape; None: a search for the largest rate")


SearchEnd = Literal[
    "tolerance", "highest_rate", "lowest_rate", "points", "unloaded_misses", "generator_too_slow", "server_died"
]


class RateSearch(Contract):
    """A search for the largest rate that holds an SLO."""

    arm: str = Field(description="Arm that was searched")
    slo: Slo
    largest_rate: float = Field(ge=0, description="Largest rate that was measured and held; 0: none did")
    first_miss: float | None = Field(default=None, description="Smallest rate measured above it, which missed; None: none did")
    tolerance: float = Field(description="first_miss over largest_rate is at most 1 + this when the search ends by it")
    unloaded_p99_ms: float | None = Field(default=None, description="P99 of one request at a time; None: not measured")
    ended_by: SearchEnd = Field(description="tolerance: by the tolerance; else what ended it before")
    why: str = Field(description="The same in a sentence, with what was missed")
    points: int = Field(ge=0, description="Load steps that it took")


class Burst(Contract):
    """All at once on a server that has answered nothing yet (white paper C9), against that of the version before (C10)."""

    requests: int = Field(description="Requests sent at the same moment")
    cold: bool = Field(default=True, description="Whether the server was started for it; else it had answered before")
    point: LoadPoint
    compared_with: str = Field(default="", description="MLflow run of the version before; empty: there is none like it")
    p95_change: float | None = Field(default=None, description="P95 over that version's, less 1")
    memory_change: float | None = Field(default=None, description="Memory over that version's, less 1")
    alarms: tuple[str, ...] = Field(default=(), description="In words: P95 more than 30 % up, memory more than 15 % up")


class ThroughputReport(Contract):
    """What the throughput stage hands on. 'Not measured' is a result, with its reason."""

    schema_version: Literal["1", "2"] = "2"
    measured: bool
    not_measured_reason: str | None = None
    server: str = Field(default="", description="Engine, version and device")
    engine_settings: dict[str, str] = Field(default_factory=dict)
    startup_s: float | None = None
    warmup_s: float | None = None
    slo: Slo = Slo()
    points: tuple[LoadPoint, ...] = ()
    unloaded: tuple[LoadPoint, ...] = Field(default=(), description="One request at a time, an arm each")
    searches: tuple[RateSearch, ...] = ()
    burst: Burst | None = None
    load: str = Field(default="", description="The one load that was tested, in words; empty: a search for the largest rate")
    cores: str = Field(default="", description="What was done about the cores of server and generator")
    html: str | None = Field(default=None, description="The page with the plots; None: a stage of a lap, whose page has them")

    def largest_rate(self, arm: str) -> float | None:
        """Largest offered rate at which the SLO held, with every lower step holding it too; None if not measured."""
        if not self.measured:
            return None
        best = 0.0
        last = {
            point.offered_rate: point for point in self.points if point.arm == arm and point.steady
        }  # measured again: the last one counts
        for _, point in sorted(last.items()):
            if point.void or not point.holds_slo:
                break
            best = point.offered_rate
        return best
