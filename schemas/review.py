"""Review: what people answer to the rows that wait for them, and how far they agree."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from schemas.base import Contract, Rate
from schemas.frame import Frame

Decision = Literal["accepted", "labelled", "skipped", "withdrawn"]
"""accepted: the suggestion as it stands; labelled: another label; skipped: left to others; withdrawn: undone."""

ReviewerName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""How a reviewer is told from the others; any script, no control characters."""


class ReviewAnswer(Contract):
    """One decision of one reviewer on one row: a line of the append-only log of answers."""

    schema_version: Literal["1"] = "1"
    id: str = Field(min_length=1)
    text: str = Field(min_length=1, max_length=2000, description="As the reviewer saw it; it never moves to another text")
    decision: Decision = Field(description="accepted, labelled, skipped (left to others) or withdrawn (an undone answer)")
    frame: Frame | None = Field(default=None, description="The label; None where the decision gives none")
    reviewer: ReviewerName = Field(description="Who answered")
    at: datetime = Field(description="When, ISO 8601 with an offset; a reviewer's latest answer to a row counts")
    via: Literal["page", "file", "label_studio"] = Field(description="How the answer came")

    @model_validator(mode="after")
    def _holds(self) -> Self:
        if (self.frame is not None) != (self.decision in ("accepted", "labelled")):
            raise ValueError("accepted and labelled carry a frame, skipped and withdrawn none")
        if self.at.utcoffset() is None:
            raise ValueError("the time of an answer needs an offset, e.g. 2026-11-30T08:15:00+00:00")
        for slot in self.frame.slots if self.frame else ():
            seen = self.text[slot.start : slot.end]
            if seen != slot.value:
                raise ValueError(f"slot {slot.name!r}: text[{slot.start}:{slot.end}] is {seen!r}, not {slot.value!r}")
        return self


class ReviewRow(Contract):
    """A line of an exported queue: the question, and room for an answer (decision, frame, reviewer)."""

    id: str = Field(min_length=1)
    text: str = Field(min_length=1, max_length=2000)
    language: Literal["en", "zh"]
    suggestion: Frame | None = Field(default=None, description="The teacher's frame; None: it gave none")
    intent_confidence: float | None = Field(default=None, description="The teacher's in the intent; None: not known")
    slot_confidence: dict[str, float] = Field(default_factory=dict, description="The teacher's in slots, where it is known")
    reasons: tuple[str, ...] = Field(default=(), description="Why a person is asked")
    confidence: Rate | None = Field(default=None, description="Of the independent labeller (the probe) in its own guess")
    round: int = Field(default=1, ge=1, description="Seeding round that asked")
    decision: Decision | None = Field(
        default=None, description="To fill in: accepted, labelled, skipped; may be left out where frame is filled in"
    )
    frame: Frame | None = Field(default=None, description="To fill in: the label, offsets in code points")
    reviewer: str = Field(default="", description="To fill in, unless the import names the reviewer")
    answers: tuple[ReviewAnswer, ...] = Field(
        default=(), description="What reviewers have answered, one a reviewer; empty in rows that are to be filled in"
    )


class ReviewerTally(Contract):
    """What one reviewer has done."""

    name: str
    answered: int = Field(ge=0, description="Rows with a label by this reviewer")
    accepted: int = Field(ge=0, description="Of these, labels that were the suggestion as it stood")
    skipped: int = Field(ge=0, description="Rows that this reviewer left to others")


class PairAgreement(Contract):
    """How far two reviewers agree on the rows that both labelled."""

    reviewers: tuple[str, str] = Field(description="Their names, in alphabetical order")
    shared: int = Field(ge=1, description="Rows that both labelled")
    same_intent: Rate = Field(description="Share of them with the same intent")
    same_frame: Rate = Field(description="Share of them with the same intent and slots")
    kappa: float | None = Field(description="Cohen's kappa of the intents; None: undefined, they used a single intent")


class Conflict(Contract):
    """A row on which reviewers differ and no label has the majority. All answers are kept."""

    id: str
    text: str
    answers: tuple[ReviewAnswer, ...] = Field(description="The labels, one a reviewer")


class ReviewStatus(Contract):
    """Where the review of a domain stands."""

    schema_version: Literal["1"] = "1"
    domain: str
    rows: int = Field(ge=0, description="Rows that wait for people, or did")
    settled: int = Field(ge=0, description="Rows with a label that most of their reviewers gave")
    open: int = Field(ge=0, description="Rows without a label, skipped ones among them")
    skipped: int = Field(ge=0, description="Open rows that somebody left to others")
    conflicts: tuple[Conflict, ...] = Field(default=(), description="Rows that reviewers label differently, without a majority")
    reviewers: tuple[ReviewerTally, ...] = Field(default=(), description="One entry a reviewer, by name")
    pairs: tuple[PairAgreement, ...] = Field(default=(), description="One entry a pair with rows in common")
    alpha: float | None = Field(
        default=None, description="Krippendorff's alpha (nominal) of the intents, all reviewers; None: nothing to compare"
    )
