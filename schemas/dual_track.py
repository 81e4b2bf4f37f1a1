"""Dual-track evaluation: offline metrics beside business metrics, version by version."""

from __future__ import annotations

from pydantic import Field

from schemas.base import Contract, Rate


class VersionTrack(Contract):
    """One version: how good it is on gold rows, and what its users did."""

    version: str = Field(description="Served name")
    lap: int = Field(ge=1, description="Lap whose feedback this is")
    offline_split: str = Field(description="Rows behind the offline figures")
    joint_frame_accuracy: Rate = Field(description="Intent and all slot spans right, on those rows")
    intent_accuracy: Rate = Field(description="Intent right, on those rows")
    cases: int = Field(ge=0, description="Answers behind the business figures")
    replayed: bool = Field(default=True, description="Simulated users; False: real ones")
    task_completion: Rate = Field(description="Share of tasks that were done as wanted")
    turns: float = Field(ge=0, description="Mean turns until the user was done")
    correction_rate: Rate = Field(description="Share of answers that a user edited")
    click_through: Rate | None = Field(default=None, description="Share of answers with a conversion; None: none reported")
    cost_per_1k_tasks: float | None = Field(
        ge=0,
        description="Machine time and tokens, per 1,000 completed tasks; None: no answers were timed",
    )


class Correlation(Contract):
    """How two figures go together over versions."""

    versions: int = Field(ge=0, description="Versions with both figures")
    pearson: float | None = Field(default=None, ge=-1, le=1, description="None: not to be told, see note")
    pearson_interval: tuple[float, float] | None = Field(default=None, description="95 %, Fisher's z")
    spearman: float | None = Field(default=None, ge=-1, le=1, description="None: not to be told")
    spearman_interval: tuple[float, float] | None = Field(default=None, description="95 %, Bonett and Wright 2000")
    note: str = Field(default="", description="Why a figure is missing")


class DualTrack(Contract):
    """The table, and whether the tracks are coupled."""

    versions: tuple[VersionTrack, ...] = Field(description="Oldest first")
    correlations: dict[str, Correlation] = Field(description="Business figure -> its correlation with joint frame accuracy")
    decoupled: bool = Field(description="r < 0.3 between joint frame accuracy and task completion")
    note: str = Field(description="In words")
