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
    """timeout, connection, incomplete, stream_error, http_429, http_500, …; None: it succeeded."""

    @property
    def latency(self) -> float:
        """Seconds from the scheduled send time to the end: a late generator makes a request slower, never faster."""
        return self.finished - self.scheduled


@dataclass(frozen=True)
class StepRecord:
    """Raw record of one load step: a sample for every request of the schedule, in schedule order."""

    samples: tuple[Sample, ...]
    max_in_flight: int


class LoadGenerator(Protocol):
    """Sends open-loop load to one server."""

    def run(self, model: str, texts: Sequence[str], schedule: Sequence[float]) -> StepRecord:
        """Send ``texts[i]`` at ``schedule[i]`` seconds, whatever became of the earlier ones. Ends in bounded time."""
        ...

    def drain(self) -> None:
        """Wait, for a bounded time, until the server has nothing left to do."""
        ...

    def is_alive(self) -> bool:
        """Whether the server still answers."""
        ...
