"""A frame: what an utterance asks for, as an intent and slot spans in code points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from schemas.base import Contract, Slug

OUT_OF_SCOPE = "out_of_scope"
"""The intent of an utterance that asks for none of the domain's tasks."""


class Slot(Contract):
    """One slot value with its place in the text, in code points: ``text[start:end] == value``."""

    name: Slug
    value: str = Field(min_length=1)
    start: int = Field(ge=0, description="First code point")
    end: int = Field(gt=0, description="One past the last code point")

    @model_validator(mode="after")
    def _span_fits_value(self) -> Self:
        if self.end - self.start != len(self.value):
            raise ValueError(f"slot {self.name!r}: span {self.start}:{self.end} does not fit the value {self.value!r}")
        return self


class Frame(Contract):
    """Intent and slots of one utterance. Slots are in text order and do not overlap."""

    intent: Slug
    slots: tuple[Slot, ...] = ()

    @model_validator(mode="after")
    def _slots_are_ordered(self) -> Self:
        for left, right in zip(self.slots, self.slots[1:], strict=False):
            if right.start < left.end:
                raise ValueError(f"slots {left.name!r} and {right.name!r} overlap or are out of order")
        if self.intent == OUT_OF_SCOPE and self.slots:
            raise ValueError("an out_of_scope frame has no slots")
        return self

    @classmethod
    def from_values(cls, text: str, intent: str, values: Mapping[str, str]) -> Self:
        """Place slot values in ``text``: each at its first free occurrence, longest values first.

        Raises:
            ValueError: a value is empty or does not stand in the text (it is wrong, whatever it says).
        """
        taken: list[Slot] = []
        for name, value in sorted(values.items(), key=lambda item: -len(item[1])):
            start = text.find(value) if value else -1
            while start >= 0 and any(start < s.end and s.start < start + len(value) for s in taken):
                start = text.find(value, start + 1)
            if start < 0:
                raise ValueError(f"slot {name!r}: {value!r} does not stand in the text")
            taken.append(Slot(name=name, value=value, start=start, end=start + len(value)))
        return cls(intent=intent, slots=tuple(sorted(taken, key=lambda slot: slot.start)))

    @property
    def values(self) -> dict[str, str]:
        """Slot values by name."""
        return {slot.name: slot.value for slot in self.slots}


class Prediction(Contract):
    """A student's answer to one utterance: a frame, or the reason why there is none."""

    frame: Frame | None = None
    raw: str = Field(default="", description="The reply as it came")
    error: str | None = Field(
        default=None, description="Why the reply is not a frame (malformed, truncated, unknown_intent, …)"
    )
    confidence: float | None = Field(default=None, description="Probability of the answer; None is 'not known', not 'low'")
    intent_confidence: float | None = Field(default=None, description="Probability of the intent; None: not known")
    slot_confidence: dict[str, float] = Field(
        default_factory=dict, description="Slot -> probability of its value; a slot that is not in it is not known"
    )
