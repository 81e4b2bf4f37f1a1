"""How a training is made robust (white paper F7) and watched (F2): settings that both students share."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract
from schemas.utterance import LabelSource


class RobustPlan(Contract):
    """Arms of robust few-shot training, each of which can be switched on. All off is plain cross-entropy."""

    contrastive: float = Field(
        default=0.0, ge=0, description="Weight of the supervised contrastive term (Khosla et al. 2020); encoder only; 0: off"
    )
    contrastive_temperature: float = Field(default=0.1, gt=0, description="Its temperature")
    mc_passes: int = Field(
        default=0,
        ge=0,
        description="Monte-Carlo dropout passes of the entropy term (white paper: 10); encoder only; 0: off",
    )
    mc_beta: float = Field(default=0.3, ge=0, description="Weight of the mean predictive entropy of those passes")
    smoothing: dict[LabelSource, float] = Field(
        default={}, description='Label smoothing of intents by label source, encoder only, e.g. {"teacher": 0.1}'
    )
    source_weights: dict[LabelSource, float] = Field(
        default={}, description='Weight of rows in the loss by label source, e.g. {"teacher": 0.5}; others weigh 1'
    )
    hard_weight: float = Field(default=1.0, gt=0, description="Weight of rows that seeding chose for being hard")

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms that are on."""
        on = {
            "contrastive": self.contrastive > 0,
            "mc_dropout": self.mc_passes > 0 and self.mc_beta > 0,
            "smoothing": any(self.smoothing.values()),
            "source_weights": any(weight != 1 for weight in self.source_weights.values()),
            "hard_rows": self.hard_weight != 1,
        }
        return tuple(name for name, is_on in on.items() if is_on)


class GuardPlan(Contract):
    """The convergence guard: what it calls a jump, and what it does about one."""

    action: Literal["lower", "stop", "warn", "off"] = Field(
        default="lower", description="lower: cut the learning rate, and stop where that has not helped; stop; warn; off"
    )
    loss_jump: float = Field(
        default=2.17, gt=0, description="Rise of the validation loss over its lowest that is a jump; the white paper's: 217 %"
    )
    gradient_variance: float = Field(
        default=1e4, gt=0, description="Variance of the last gradient norms that is an explosion; the white paper's"
    )
    window: int = Field(default=20, ge=2, description="Steps whose gradient norms are looked at")
    factor: float = Field(default=0.3, gt=0, lt=1, description="The learning rate is cut to this share of itself")
    cuts: int = Field(default=2, ge=0, description="Cuts after which the next jump stops the training")
    checks: int = Field(default=5, ge=0, description="Looks at the validation loss in a training; 0: none")
    rows: int = Field(default=24, ge=1, description="Rows of valid that the causal student looks at")


class GuardEvent(Contract):
    """Something that the guard saw."""

    step: int = Field(ge=0, description="0: before the training")
    what: Literal["schedule", "loss_jump", "gradient_variance"] = Field(description="Which of the things that it looks for")
    message: str = Field(description="What it saw, with figures, and what to do")
    action: Literal["warned", "lowered", "stopped"] = Field(description="What it did")
