"""How long stages took, over every attempt: an append-only log beside the lap's stages."""

from __future__ import annotations

from pydantic import Field

from kickwheel.workspace import Lap, append_durably, read_log
from schemas.base import Contract
from schemas.lap import STAGES, Stage, StageTime


class Attempt(Contract):
    """One line a start and one an end; a killed attempt has no end."""

    stage: Stage
    at: str = Field(description="Start, ISO 8601, UTC")
    seconds: float | None = Field(description="None in the line of the start")


def log_attempt(lap: Lap, attempt: Attempt) -> None:
    """Append a start or an end."""
    append_durably(lap.folder / "attempts.jsonl", [attempt])


def stage_times(lap: Lap) -> tuple[StageTime, ...]:
    """Seconds and attempts of each stage that was started. The seconds of a killed attempt are not known and not counted."""
    log = read_log(lap.folder / "attempts.jsonl", Attempt)
    times = []
    for stage in STAGES:
        starts = sum(item.stage == stage and item.seconds is None for item in log)
        seconds = sum(item.seconds for item in log if item.stage == stage and item.seconds is not None)
        if starts:
            times.append(StageTime(stage=stage, seconds=seconds, attempts=starts))
    return tuple(times)


def started_at(lap: Lap) -> str:
    """When the lap's first stage was first started; empty if none was."""
    log = read_log(lap.folder / "attempts.jsonl", Attempt)
    return log[0].at if log else ""
