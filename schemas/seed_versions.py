"""Versions of a domain's labelled rows, and what another round of labelling would take."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Sha256
from schemas.frame import Frame


class Relabelled(Contract):
    """A row whose label differs between two versions."""

    id: str
    before: Frame | None = Field(description="None: the row had no label")
    after: Frame | None = Field(description="None: the row has no label any more")


class SeedSetDiff(Contract):
    """What changed from one version of the labelled rows to another, by row id."""

    schema_version: Literal["1"] = "1"
    before: Sha256 = Field(description="Hash of the older version's file")
    after: Sha256 = Field(description="Hash of the newer version's file")
    added: tuple[str, ...] = Field(description="Ids that only the newer one has")
    removed: tuple[str, ...] = Field(description="Ids that only the older one has")
    relabelled: tuple[Relabelled, ...] = Field(description="Rows with another label")
    reworded: tuple[str, ...] = Field(description="Ids whose text changed, as masking does")
    unchanged: int = Field(ge=0, description="Rows with the same text and label")


class PlannedRound(Contract):
    """Calls that one round is expected to take. Tokens are upper estimates."""

    number: int = Field(ge=1)
    rows: int = Field(ge=0, description="Pool rows that are put to the teacher")
    exact: bool = Field(description="Whether these are the very rows; later rounds depend on the labels of this one")
    remembered: int = Field(ge=0, description="Answers that are in the log already and cost nothing")
    calls: int = Field(ge=0, description="Calls to make, if every reply holds")
    most_calls: int = Field(ge=0, description="Calls to make, if no first reply holds")
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


class SeedPlan(Contract):
    """What a seeding stage would do, worked out without a call."""

    schema_version: Literal["1"] = "1"
    domain: str
    lap: int = Field(ge=1)
    model: str = Field(description="Who would be asked")
    strategy: str = Field(description="How rows are chosen")
    finished_rounds: int = Field(ge=0, description="Rounds that this lap has done from the same inputs")
    rounds: tuple[PlannedRound, ...] = Field(description="Rounds that are left")
    rows: int = Field(ge=0, description="Rows of all rounds that are left")
    calls: int = Field(ge=0, description="Calls of all rounds that are left")
    most_calls: int = Field(ge=0, description="With one more call for every row")
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    remembered: int = Field(ge=0, description="Answers that are in the log already")
    cost: float | None = Field(description="At the prices of the settings; None: there are none")
    least_seconds: float = Field(ge=0, description="Time that the limits a minute take, the answers' own not counted")
    stops_at: str | None = Field(description="Budget that would end the asking before the last row; None: there is room")
    calls_made: Literal[0] = Field(default=0, description="A plan asks nobody")
