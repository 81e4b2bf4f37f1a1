"""Whether a distillation is due, and why."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate

Trigger = Literal["by_hand", "enough", "drift", "novelty"]


class TriggerVerdict(Contract):
    """What the triggers say of the evidence since the last distillation."""

    schema_version: Literal["1"] = "1"
    due: bool = Field(description="Whether a distillation is worth running")
    kinds: tuple[Trigger, ...] = Field(default=(), description="Triggers that fired")
    fired: tuple[str, ...] = Field(description="The same in words, with the figures")
    new_answers: int = Field(ge=0, description="Answers given, or spoken about, since")
    telling_answers: int = Field(ge=0, description="Of those, answers that somebody judged")
    stability_index: float = Field(ge=0, description="Population stability index of the answered intents, new against before")
    low_confidence: Rate = Field(description="Share of new answers of low confidence")
    low_confidence_before: Rate = Field(description="The same of the answers before")


class DistillOutcome(Contract):
    """What `kickwheel distill` did."""

    schema_version: Literal["1"] = "1"
    domain: str = Field(description="Its name")
    verdict: TriggerVerdict
    ran: bool = Field(description="Whether a distillation was run")
    lap: int | None = Field(default=None, description="The lap that it ran in")
    gate: str = Field(default="", description="The gate's decision; empty: there was nothing to judge")
    reasons: tuple[str, ...] = Field(default=(), description="The gate's reasons")
    champion: str = Field(default="", description="Champion afterwards")
