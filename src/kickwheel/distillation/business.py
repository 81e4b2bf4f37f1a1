"""Business metrics of a replay, an arm: what the business sees beside the model metrics (white paper F5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from kickwheel.distillation.replay import ARMS, Arm
from schemas.feedback import BusinessMetrics, FeedbackEvent


@dataclass(frozen=True)
class ServingUse:
    """What it took to give a number of answers, and what that costs: machine time for a model that we serve, tokens for one
    that is paid by the token."""

    answers: int = 1
    machine_seconds: float = 0.0
    machine_price_per_hour: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_price_per_1m: float = 0.0
    completion_price_per_1m: float = 0.0

    @property
    def price_per_answer(self) -> float:
        """Mean price of one answer, in the currency of the settings."""
        machine = self.machine_seconds / 3600 * self.machine_price_per_hour
        prompt = self.prompt_tokens * self.prompt_price_per_1m
        completion = self.completion_tokens * self.completion_price_per_1m
        return (machine + (prompt + completion) / 1_000_000) / max(self.answers, 1)


def business_metrics(
    events: Sequence[FeedbackEvent], use: Mapping[Arm, ServingUse] | None = None
) -> dict[str, BusinessMetrics]:
    """Metrics by arm; an arm that nobody saw is absent. ``use`` by arm; an arm without is free."""
    by_arm = {arm: [event for event in events if event.arm == arm] for arm in ARMS}
    return {arm: _metrics(seen, (use or {}).get(arm, ServingUse())) for arm, seen in by_arm.items() if seen}


def _metrics(events: Sequence[FeedbackEvent], use: ServingUse) -> BusinessMetrics:
    completed = sum(event.completed for event in events)
    # Nothing completed: there is no cost per task. Taking one task as completed gives a lower bound, not infinity.
    cost = 1000 * use.price_per_answer * len(events) / max(completed, 1)
    return BusinessMetrics(
        cases=len(events),
        task_completion=completed / len(events),
        turns=fmean(event.behaviour.turns for event in events),
        correction_rate=sum(event.correction is not None for event in events) / len(events),
        cost_per_1k_tasks=cost,
    )
