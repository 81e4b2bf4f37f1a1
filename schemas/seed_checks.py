"""What was found in labelled rows before anybody learns from them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Rate

RowKind = Literal["hard", "easy"]
LeakReason = Literal["near_duplicate", "template", "parent"]


class AuditFigure(Contract):
    """Labels of one kind of rows that were accepted without a person, as far as people checked them afterwards."""

    rows: RowKind = Field(description="hard: those of which the independent labeller was less sure than of half of its round")
    accepted: int = Field(ge=0, description="Labels that both labellers gave")
    checked: int = Field(ge=0, description="Of these, drawn for the audit and answered by a person")
    right: int = Field(ge=0, description="Of these, equal to the person's")

    @property
    def precision(self) -> float | None:
        """Share of checked labels that are right; None: not measured."""
        return self.right / self.checked if self.checked else None


class LeakedRow(Contract):
    """A row that was kept out of training because an evaluation row is (nearly) the same."""

    id: str
    split: Literal["valid", "eval"]
    other: str = Field(description="Id of the evaluation row")
    reason: LeakReason = Field(
        description="near_duplicate; template: the same but for slot values; parent: made from the evaluation row"
    )
    similarity: Rate = Field(description="Share of character trigrams that both have")


class DuplicateRow(Contract):
    """A labelled row that was left out because another says the same."""

    id: str
    of: str = Field(description="Id of the row that stays")
    similarity: Rate = Field(description="1: equal but for case, width, white space and punctuation")
    same_label: bool = Field(description="Whether both have the same intent and slot values; if not, one of them is wrong")


class LabelSuspect(Contract):
    """A label that a model which has not seen the row does not believe (confident learning, out of fold)."""

    id: str
    source: str = Field(description="Where the label came from")
    intent: str = Field(description="As labelled")
    likely: str = Field(description="Intent that the model takes for likelier")
    likely_probability: Rate = Field(description="Its probability")


class SeedChecks(Contract):
    """Findings of a seeding stage."""

    leaks: tuple[LeakedRow, ...] = Field(default=(), description="Rows refused before training")
    duplicates: tuple[DuplicateRow, ...] = Field(default=(), description="Labelled rows left out")
    repeated_pool_rows: int = Field(default=0, ge=0, description="Pool rows never asked about: their text is there already")
    personal_data: dict[str, int] = Field(
        default_factory=dict, description="Kind (email, phone, id_number, card, ip) -> occurrences in seeds and pool"
    )
    personal_data_rows: tuple[str, ...] = Field(default=(), description="Ids of the rows that hold them")
    masked: bool = Field(default=False, description="Whether they were masked before anybody saw them")
    suspects: tuple[LabelSuspect, ...] = Field(default=(), description="Labels to look at; they stay in the set")
