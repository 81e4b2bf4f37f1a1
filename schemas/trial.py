"""An A/B trial of a challenger against the champion: what is seen and what may be concluded."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate

TrialDecision = Literal["challenger", "champion", "running", "guardrail", "invalid"]


class TrialArm(Contract):
    """What one arm's units met."""

    arm: Literal["champion", "challenger"]
    model: str = Field(default="", description="Version that answered; several are joined by a comma")
    units: int = Field(ge=0, description="Users, else sessions, that saw this arm and no other")
    answers: int = Field(ge=0, description="Answers that they got")
    judged_units: int = Field(ge=0, description="Units of whose tasks the outcome is known")
    completion: Rate = Field(description="Mean over judged units of the share of their tasks that was completed")
    error_rate: Rate = Field(description="Share of answers that are no frame, or failed")
    p95_ms: float | None = Field(default=None, description="95th percentile of the time to answer; None: not measured")


class TrialVerdict(Contract):
    """The state of a trial at this look. It may be looked at as often as one likes."""

    schema_version: Literal["1"] = "1"
    experiment: str = Field(description="Name of the trial, and salt of its assignment")
    decision: TrialDecision = Field(
        description="challenger, champion: which arm completes more; running: not decided; guardrail: stop it; invalid: no test"
    )
    reasons: tuple[str, ...]
    champion: TrialArm
    challenger: TrialArm
    difference: float | None = Field(default=None, description="Completion, challenger minus champion; None: too few units")
    low: float | None = Field(default=None, description="Lower bound of the confidence sequence")
    high: float | None = Field(default=None, description="Upper bound")
    alpha: Rate
    challenger_share: Rate = Field(description="Share that the challenger was to get")
    sample_ratio_p: Rate | None = Field(default=None, description="Chi-square test of the units in each arm against that share")
    mixed_units: int = Field(default=0, ge=0, description="Units that saw both arms and are left out")
    intents: dict[str, float] = Field(
        default_factory=dict, description="Intent -> completion, challenger minus champion, where both have enough answers"
    )
