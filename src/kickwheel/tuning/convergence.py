"""The convergence guard (white paper F2): few rows make a training collapse in ways that its mean loss does not show.

Before the run: does the schedule fit the steps that there are? The paper's case is a cosine made for 200 steps where 30 are
run. While it runs: does the validation loss jump (the paper's collapse: 217 % up in one epoch), or the variance of the
gradient's norm explode (1e4)? Pure: it is told numbers and says what to do; loops and models are elsewhere.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from schemas.training import GuardEvent, GuardPlan

FEW_STEPS = 30
"""Below these an adapter learns little; the white paper's 5-shot runs had 28 to 42."""
MANY_PASSES = 40
"""Passes over the same rows beyond which more teach them by heart."""
LITTLE_DECAY = 0.5
"""A rate that ends above this share of its peak has not come down: no decay is a third as good as one (docs/benchmarks.md)."""

Verdict = Literal["go", "lower", "stop"]


def check_schedule(
    *, steps: int, decay: str, decay_steps: int, warmup_steps: int, passes: float, plan: GuardPlan
) -> tuple[GuardEvent, ...]:
    """What is wrong with a schedule, before anything is trained.

    Args:
        decay_steps: steps that the decay is made for; 0: those that there are.
        passes: over the rows.
    """
    if plan.action == "off":
        return ()
    told = []
    left = rate_share(steps, steps, decay, decay_steps, warmup_steps)
    if left > LITTLE_DECAY:
        told.append(
            f"the {decay} decay is made for {decay_steps} steps and {steps} are run: the rate ends at {left:.0%} of its peak; "
            f"set decay_steps to 0, or to at most {steps}"
        )
    elif 0 < decay_steps < steps * LITTLE_DECAY:
        told.append(
            f"the {decay} decay ends at step {decay_steps} of {steps}: the steps after it train at a rate of 0; "
            "set decay_steps to 0"
        )
    if warmup_steps > steps / 2:
        told.append(f"{warmup_steps} of {steps} steps are warm-up: the rate hardly reaches its peak; lower warmup_share")
    if steps < FEW_STEPS:
        told.append(f"only {steps} steps: below {FEW_STEPS} little is learned; raise the budget or epochs, or lower batch_size")
    if passes > MANY_PASSES:
        told.append(f"{passes:.0f} passes over the same rows: they will be known by heart; lower the budget or epochs")
    return tuple(GuardEvent(step=0, what="schedule", message=message, action="warned") for message in told)


def rate_share(step: int, steps: int, decay: str, decay_steps: int, warmup_steps: int) -> float:
    """Share of the peak rate after ``step`` of ``steps``: linear warm-up, then linear or cosine to 0 at the decay's end."""
    end = decay_steps or steps
    if step < warmup_steps:
        return step / max(1, warmup_steps)
    gone = min(1.0, (step - warmup_steps) / max(1, end - warmup_steps))
    return 0.5 * (1 + math.cos(math.pi * gone)) if decay == "cosine" else 1.0 - gone


class ConvergenceGuard:
    """Told each gradient norm and each validation loss, it says whether to go on. Its state goes into checkpoints."""

    def __init__(self, plan: GuardPlan, state: Mapping[str, Any] | None = None):
        self._plan = plan
        state = state or {}
        self._norms: list[float] = list(state.get("norms", ()))
        self._lowest: float | None = state.get("lowest")
        self._cuts = int(state.get("cuts", 0))
        self.events = [GuardEvent.model_validate(event) for event in state.get("events", ())]

    @property
    def factor(self) -> float:
        """Share that is left of the planned learning rate."""
        return self._plan.factor**self._cuts

    @property
    def state(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        events = [event.model_dump() for event in self.events]
        return {"norms": self._norms, "lowest": self._lowest, "cuts": self._cuts, "events": events}

    def gradient(self, step: int, norm: float) -> Verdict:
        """The norm of a step's gradient, before it was clipped."""
        if self._plan.action == "off" or not math.isfinite(norm):
            return "go"
        self._norms = [*self._norms, norm][-self._plan.window :]
        if len(self._norms) < self._plan.window:
            return "go"
        variance = statistics.variance(self._norms)
        if variance <= self._plan.gradient_variance:
            return "go"
        self._norms = []  # the next window is judged on its own
        limit = self._plan.gradient_variance
        return self._act(
            step,
            "gradient_variance",
            f"the norms of the last {self._plan.window} gradients vary by {variance:.3g} (limit {limit:g})",
        )

    def validation(self, step: int, loss: float) -> Verdict:
        """The loss on rows that are not trained on."""
        if self._plan.action == "off":
            return "go"
        lowest = self._lowest
        if lowest is None or loss < lowest:
            self._lowest = loss
        if lowest is None or loss <= lowest * (1 + self._plan.loss_jump):
            return "go"
        rise = f"{loss / lowest - 1:.0%}" if lowest > 0 else "from 0"
        limit = self._plan.loss_jump
        return self._act(step, "loss_jump", f"the validation loss is {loss:.3g}, {rise} above its lowest (limit {limit:.0%})")

    @property
    def lowest(self) -> float | None:
        """The lowest validation loss so far."""
        return self._lowest

    def _act(self, step: int, what: Literal["loss_jump", "gradient_variance"], message: str) -> Verdict:
        if self._plan.action == "warn":
            done: Literal["warned", "lowered", "stopped"] = "warned"
            verdict: Verdict = "go"
        elif self._plan.action == "lower" and self._cuts < self._plan.cuts:
            self._cuts += 1
            done, verdict = "lowered", "lower"
            message += f"; the learning rate is cut to {self.factor:.0%} of the plan's"
        else:
            done, verdict = "stopped", "stop"
            message += "; the training ends here, with the weights of the lowest validation loss"
        self.events.append(GuardEvent(step=step, what=what, message=message, action=done))
        return verdict


def check_steps(steps: int, checks: int) -> frozenset[int]:
    """Steps after which the validation loss is looked at, evenly, the last one not among them: nothing could be done then."""
    return frozenset(round(steps * (k + 1) / (checks + 1)) for k in range(checks)) - {0, steps}


def sentences(events: Sequence[GuardEvent]) -> list[str]:
    """Events as lines for a report."""
    return [f"step {event.step}: {event.message}" if event.step else f"before the run: {event.message}" for event in events]
