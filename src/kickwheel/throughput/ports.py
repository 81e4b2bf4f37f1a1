"""What a measurement needs: something that sends load and says what became of every request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Sample:
    """One request. Times are seconds since the step began."""

    scheduled: float
    sent: float
    finished: float
    first_token: float | None = None
    completion_tokens: int = 0
    error: str | None = None
    """timeout, connection, incomplete, stream_error, http_429, http_500, … ; abandoned: under way when the step was ended;
    None: it succeeded."""
    last_token: float | None = None
    gaps: tuple[float, ...] = ()
    """Seconds between the pieces of text of the reply."""
    prompt_tokens: int = 0
    text: str = ""
    finish_reason: str = ""

    @property
    def latency(self) -> float:
        """Seconds from the scheduled send time to the end: a late generator makes a request slower, never faster."""
        return self.finished - self.scheduled


@dataclass(frozen=True)
class Instant:
    """A moment of a step, as the client sees it. ``at`` in seconds since the step began."""

    at: float
    sent: int
    finished: int
    in_flight: int


@dataclass(frozen=True)
class StepRecord:
    """Raw record of one load step: a sample for every request that was due before the step ended, in schedule order."""

    samples: tuple[Sample, ...]
    max_in_flight: int
    begin: float = 0.0
    """``time.monotonic`` of the step's zero: one clock for all processes of a machine."""
    stopped_early: str = ""
    cpu: float | None = None
    """Share of one core that the generator's process used."""
    timeline: tuple[Instant, ...] = ()


@dataclass(frozen=True)
class StopRule:
    """When a step is ended early: as soon as it is certain that a percentile will miss its limit.

    More than ``allowed`` requests that took longer than ``limit_s``, are under way for longer, or failed. See
    :func:`kickwheel.throughput.slo.stop_rule`.
    """

    limit_s: float
    allowed: int


@dataclass(frozen=True)
class LoadPlan:
    """What to send and when.

    Attributes:
        bodies: the JSON of each chat request (:mod:`kickwheel.throughput.request_body`).
        schedule: seconds at which each is due, rising. Empty: closed loop.
        concurrency: requests under way at a time in a closed loop.
        stop: ends a step early that is lost already.
    """

    bodies: tuple[bytes, ...]
    schedule: tuple[float, ...] = ()
    concurrency: int = 0
    stop: StopRule | None = None

    def __post_init__(self) -> None:
        if not self.bodies:
            raise ValueError("a load plan needs at least one request")
        if bool(self.schedule) == bool(self.concurrency):
            raise ValueError("a load plan has either a schedule (open loop) or a concurrency (closed loop)")
        if self.schedule and len(self.schedule) != len(self.bodies):
            raise ValueError(f"{len(self.bodies)} requests, but {len(self.schedule)} times to send them at")


class LoadGenerator(Protocol):
    """Sends load to one server."""

    def run(self, plan: LoadPlan) -> StepRecord:
        """Send every request when it is due, whatever became of the earlier ones. Ends in bounded time."""
        ...

    def drain(self) -> None:
        """Wait, for a bounded time, until the server has nothing left to do."""
        ...

    def is_alive(self) -> bool:
        """Whether the server still answers."""
        ...


class ServerWatch(Protocol):
    """Watches the server's own metrics during a step."""

    def start(self) -> None:
        """Begin to watch."""
        ...

    def stop(self) -> Sequence[Scrape]:
        """End, and hand over what was seen."""
        ...


@dataclass(frozen=True)
class Scrape:
    """One look at the server: ``at`` is ``time.monotonic``; names as in :mod:`kickwheel.throughput.server_metrics`."""

    at: float
    values: dict[str, float]
