"""A plan from the data: what nobody has set is computed from rows, classes and the token budget, each with its reason.

The rules go through what was measured (docs/benchmarks.md) and no further: the example's 280 rows under 45,000 tokens on a 135M
base (:class:`schemas.tuning.LoraPlan`), and 7,481 rows of 77 intents on a 0.5B base on a GPU. Between the two they interpolate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from schemas.student import EncoderStudentPlan
from schemas.tuning import LoraPlan

STEPS_WANTED = 390
"""Steps of the example's best setting: on few tokens it is steps that are scarce."""
MANY_CLASSES, MANY_ROWS = 50, 2_000
LARGE_BASE = 300_000_000
"""Weights from which a base wants a tenth of the small one's rate: 4e-3 at 135M, 4e-4 at 0.5B."""
ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
ENCODER_STEPS = (120, 600)
"""An encoder's head begins as a probe: fewer steps than these leave it one, more gained nothing on BANKING77."""


@dataclass(frozen=True)
class DataFacts:
    """What a plan is computed from.

    Args:
        tokens_a_row: mean, prompt and completion.
        base_weights: of the base model; 0: not known.
        max_lora_rank, lora_modules: what the server takes; no modules: all.
    """

    rows: int
    classes: int
    tokens_a_row: float
    base_weights: int = 0
    max_lora_rank: int = 8
    lora_modules: tuple[str, ...] = ()


class _Decisions:
    """What a plan leaves open, decided one by one."""

    def __init__(self, plan: LoraPlan | EncoderStudentPlan):
        self._plan = plan
        self.found: dict[str, Any] = {}
        self.reasons: list[str] = []

    def decide(self, name: str, value: Any, reason: str) -> Any:
        """The plan's own value where a person set it, else ``value``."""
        if name in self._plan.model_fields_set:
            value = getattr(self._plan, name)
            self.reasons.append(f"{name} {_show(value)}: set")
            return value
        self.found[name] = value
        self.reasons.append(f"{name} {_show(value)}: {reason}")
        return value


def plan_lora(settings: LoraPlan, facts: DataFacts) -> tuple[LoraPlan, tuple[str, ...]]:
    """The plan with everything decided that ``settings`` leaves open, and a reason for each. What is set stays as it is."""
    made = _Decisions(settings)
    many = facts.classes > MANY_CLASSES or facts.rows > MANY_ROWS
    wanted = 16 if many else 8
    limit = f", at most the server's {facts.max_lora_rank}" if facts.max_lora_rank < wanted else ""
    size = f"{facts.rows} rows of {facts.classes} intents"
    rank = made.decide("r", min(wanted, facts.max_lora_rank), size + limit)
    made.decide("alpha", 2 * rank, "twice the rank (white paper F11)")
    if many and not facts.lora_modules:
        made.decide("target_modules", ALL_LINEAR, size)
    else:
        made.decide("target_modules", ("q_proj", "v_proj"), "few rows, or a server that takes no others (white paper F11)")
    seen = settings.max_tokens / max(1.0, facts.tokens_a_row)
    if settings.epochs:
        seen = min(seen, settings.epochs * facts.rows)
    power = round(math.log2(max(1.0, seen / STEPS_WANTED)))
    why = f"{seen:,.0f} rows are seen: about {STEPS_WANTED} steps come before larger batches"
    batch = made.decide("batch_size", int(2 ** min(6, max(1, power))), why)
    rate = 4e-4 if facts.base_weights >= LARGE_BASE else 4e-3
    known = f"{facts.base_weights / 1e6:.0f}M weights" if facts.base_weights else "size not known yet"
    share = 0.1 if settings.method == "full" else 1.0
    made.decide(
        "learning_rate",
        rate * share,
        f"by the size of the base ({known})" + (", a tenth for whole weights" if share < 1 else ""),
    )
    passes = seen / max(1, facts.rows)
    made.reasons.append(
        f"{passes:.1f} passes: {settings.max_tokens:,} tokens at {facts.tokens_a_row:.0f} a row, batches of {batch}"
    )
    return settings.model_copy(update=made.found), tuple(made.reasons)


def plan_encoder(settings: EncoderStudentPlan, facts: DataFacts) -> tuple[EncoderStudentPlan, tuple[str, ...]]:
    """The same for an encoder student."""
    made = _Decisions(settings)
    batch = made.decide("batch_size", 16 if facts.rows < MANY_ROWS else 64, f"{facts.rows} rows")
    least, most = ENCODER_STEPS
    steps = min(most, max(least, settings.epochs * facts.rows / batch))
    epochs = round(steps * batch / max(1, facts.rows), 2)
    made.decide("epochs", epochs, f"{steps:.0f} steps over {facts.rows} rows; kept between {least} and {most}")
    rank = made.decide("r", 16 if facts.classes > MANY_CLASSES else 8, f"{facts.classes} intents")
    made.decide("alpha", 2 * rank, "twice the rank")
    if settings.method == "full":
        made.decide("learning_rate", settings.learning_rate / 5, "whole weights want a lower rate than LoRA")
    else:
        made.decide("learning_rate", settings.learning_rate, "LoRA beside heads that begin as a probe")
    return settings.model_copy(update=made.found), tuple(made.reasons)


def _show(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)
