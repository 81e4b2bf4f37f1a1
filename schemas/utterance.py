"""Utterances: the rows of every dataset, with where each came from."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from schemas.base import Contract
from schemas.frame import Frame

LabelSource = Literal["seed", "teacher", "reviewer", "operator", "distilled", "synthetic", "gold"]


class Provenance(Contract):
    """Where a row's label came from."""

    source: LabelSource
    model: str | None = Field(default=None, description="Served name of the model that labelled it")
    prompt_sha256: str | None = Field(default=None, description="Hash of the prompt that was sent")
    parent: str | None = Field(default=None, description="Id of the row it was made from")
    round: int | None = Field(default=None, ge=0, description="Acquisition round that chose it")


class Utterance(Contract):
    """One text, labelled or not. Offsets are code points of ``text`` exactly as stored."""

    id: str = Field(min_length=1)
    text: str = Field(min_length=1, max_length=2000)
    language: Literal["en", "zh"] = Field(description="zh where the text holds any Han character")
    frame: Frame | None = Field(default=None, description="None: not labelled")
    provenance: Provenance | None = None

    @model_validator(mode="after")
    def _spans_match_text(self) -> Self:
        for slot in self.frame.slots if self.frame else ():
            seen = self.text[slot.start : slot.end]
            if seen != slot.value:
                raise ValueError(f"slot {slot.name!r}: text[{slot.start}:{slot.end}] is {seen!r}, not {slot.value!r}")
        return self


def language_of(text: str) -> Literal["en", "zh"]:
    """``zh`` where any Han character (CJK unified ideographs and extension A) stands in the text."""
    return "zh" if any("\u3400" <= char <= "\u9fff" for char in text) else "en"
