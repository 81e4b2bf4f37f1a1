"""Parity: the same prompts through every way in which an adapter can be run, before it is registered."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from schemas.base import Contract, Rate


class ParityDifference(Contract):
    """One prompt on which two ways of running the adapter disagree."""

    text: str = Field(description="The prompt's user text")
    expected: str = Field(description="Reply of transformers with PEFT")
    got: str = Field(description="Reply of the other way")


class ParityArm(Contract):
    """One way of running the adapter, against transformers with PEFT."""

    name: str = Field(description="merged: weights of base and adapter in one; served: the adapter on the model server")
    run_with: str = Field(description="What answered: transformers in this process, vLLM 0.32.0 …")
    agreement: Rate = Field(description="Share of prompts with the same parsed frame, or the same lack of one")
    differences: tuple[ParityDifference, ...] = Field(default=(), description="The first few")


class ParityReport(Contract):
    """Whether transformers with PEFT, merged weights and the served adapter give the same frames.

    Frames are compared, not strings: kernels that round differently turn near-ties (vllm-project/vllm 5148).
    """

    prompts: int = Field(ge=0, description="Prompts put to each; 0: not run")
    readable: int = Field(default=0, ge=0, description="Of those, how many transformers with PEFT answered with a frame")
    tolerance: Rate = Field(description="Share of prompts that may differ in an arm")
    arms: tuple[ParityArm, ...] = ()
    seconds: float = Field(default=0.0, ge=0)
    skipped: str = Field(default="", description="Why it was not run; empty: it was")

    @model_validator(mode="after")
    def _run_or_skipped(self) -> Self:
        if bool(self.skipped) == bool(self.arms):
            raise ValueError("parity was either run, and has arms, or skipped, and has a reason")
        return self

    @property
    def failures(self) -> tuple[str, ...]:
        """Each arm that differs on more prompts than may, in words; empty: passed, or not run."""
        return tuple(
            f"{arm.name} weights ({arm.run_with}) give another frame than transformers with PEFT on "
            f"{round((1 - arm.agreement) * self.prompts)} of {self.prompts} prompts, {100 * self.tolerance:.0f} % may differ"
            for arm in self.arms
            if 1 - arm.agreement > self.tolerance + 1e-9
        )

    def sentence(self) -> str:
        """The result in words."""
        if self.skipped:
            return f"not measured: {self.skipped}"
        told = ", ".join(f"{arm.name} {100 * arm.agreement:.0f} %" for arm in self.arms)
        return f"{self.prompts} prompts agree with transformers and PEFT: {told} (readable: {self.readable})"
