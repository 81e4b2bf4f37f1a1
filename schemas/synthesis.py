"""Rows that nobody said: written for intents, slots and languages that have too few labelled ones."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate

OrderReason = Literal["no_rows", "few_rows", "boundary"]


class SynthesisOrder(Contract):
    """Rows wanted of one square of the coverage map, and what came of it."""

    reason: OrderReason = Field(
        description="no_rows: the intent has no labelled row; few_rows: fewer than wanted; boundary: taken for another intent"
    )
    intent: str
    slot: str = Field(description="Slot that the rows must have; '-': none in particular")
    language: str
    rival: str = Field(default="", description="boundary: the intent that the rows are nearly taken for")
    labelled: int = Field(ge=0, description="Labelled rows before")
    wanted: int = Field(ge=1, description="Rows to write")
    kept: int = Field(default=0, ge=0, description="Rows that passed every check")


class SynthesisReport(Contract):
    """What synthesis wrote, what of it was refused, and how much of the training rows it makes."""

    writers: tuple[str, ...] = Field(description="Who wrote: 'templates', a model's served name; in the order of asking")
    orders: tuple[SynthesisOrder, ...]
    written: int = Field(ge=0, description="Drafts, the refused ones too")
    kept: int = Field(ge=0, description="Drafts that became rows")
    refused: dict[str, int] = Field(default_factory=dict, description="Why drafts did not become rows -> drafts")
    unchecked: int = Field(
        default=0, ge=0, description="Kept rows of intents that no independent labeller knows yet: nobody could contradict"
    )
    share: Rate = Field(description="Share of synthetic rows among the labelled ones afterwards")
    notes: tuple[str, ...] = Field(default=(), description="What ended early, and why")

    def sentence(self) -> str:
        """What a reader of the lap's report needs to know of it."""
        refused = ", ".join(f"{reason} {count}" for reason, count in self.refused.items())
        unchecked = f", {self.unchecked} of them of intents that nobody but their writer knows" if self.unchecked else ""
        return f"{self.kept} of {self.written} written rows kept{unchecked}; {100 * self.share:.0f} % of the labelled rows" + (
            f"; refused: {refused}" if refused else ""
        )
