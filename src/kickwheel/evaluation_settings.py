"""Settings of evaluation; see :mod:`kickwheel.settings`."""

from __future__ import annotations

from pydantic import Field

from kickwheel.settings_group import Group


class EvaluationSettings(Group):
    """What tuning measures beside the tuned student, and what must hold before an adapter is registered."""

    few_shot: int = Field(default=6, ge=0, description="Nearest labelled rows in the untuned base's prompt; 0: no such arm")
    base_sample: int = Field(
        default=20, ge=0, description="Rows of eval, drawn by seed, that the base is asked few-shot; 0: all of them"
    )
    constrained: bool = Field(
        default=False,
        description="Ask the base few-shot under a JSON schema too, where the server can; reported apart (slow on a CPU)",
    )
    target_accuracy: float = Field(
        default=0.9, gt=0, le=1, description="Accuracy that answers at or above the confidence threshold are to have on valid"
    )
    free_text_slots: tuple[str, ...] = Field(
        default=(), description="Slots whose values are free text: BLEU and ROUGE-L are reported for them beside exact spans"
    )
    folds: int = Field(default=5, ge=0, description="Folds of the probe's cross-validation; 0 or 1: none")
    folds_below: int = Field(default=500, ge=0, description="Labelled rows from which on there is no cross-validation")
    parity_prompts: int = Field(
        default=8,
        ge=0,
        description="Prompts put to PEFT, merged weights and the served adapter before it is registered; 0: none",
    )
    parity_tolerance: float = Field(
        default=0.25, ge=0, le=1, description="Share of those prompts whose frames may differ (bf16 turns near-ties)"
    )
