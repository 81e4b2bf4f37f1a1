"""Settings of what follows a distillation: when one is due, trials, promotion."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kickwheel.settings_group import Group


class TriggerSettings(Group):
    """When a distillation is due: `kickwheel distill`."""

    min_answers: int = Field(default=200, ge=1, description="Answers with new evidence that are enough by themselves")
    drift_answers: int = Field(default=100, ge=10, description="Answers on both sides below which drift is not judged")
    max_stability_index: float = Field(
        default=0.25, ge=0, description="Population stability index of the answered intents that calls for a distillation"
    )
    low_confidence: float = Field(default=0.5, ge=0, le=1, description="Confidence below which an answer counts as low")
    max_low_confidence_rise: float = Field(
        default=0.1, ge=0, description="Rise of the share of low answers that calls for a distillation"
    )


class PromotionSettings(Group):
    """How a version comes into service."""

    approval: bool = Field(
        default=False, description="A person has to approve what the gate lets through (flow promotion, or kickwheel promote)"
    )
    serve_as: Literal["adapter", "merged"] = Field(
        default="adapter",
        description="How versions that are registered from now on are served: adapters on the running model server, or merged "
        "weights, each on a server of its own (kickwheel engine arms says which is worth it)",
    )
    wait_hours: float = Field(default=72.0, gt=0, description="Hours for which the promotion flow waits for a person")


class TrialSettings(Group):
    """A/B trials of a challenger: `kickwheel ab`."""

    alpha: float = Field(
        default=0.05, gt=0, lt=1, description="Chance of a winner where there is no difference, however often one looks"
    )
    least_units: int = Field(default=100, ge=2, description="Users, or sessions, in each arm before anything is decided")
    planned_units: int = Field(
        default=2000, ge=10, description="Units of both arms around which the interval is tightest; it is valid at any number"
    )
    least_answers: int = Field(default=50, ge=5, description="Answers in each arm before latency or an intent can end a trial")
    max_error_rise: float = Field(default=0.01, ge=0, description="Rise of the error rate that does not end a trial")
    max_p95_rise: float = Field(
        default=0.3, ge=0, description="Rise of the 95th percentile of latency that does not, as a share"
    )
    max_intent_drop: float = Field(default=0.05, ge=0, description="Fall of an intent's completion that does not end a trial")
