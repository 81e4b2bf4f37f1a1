"""Stage 2, seeding: a small labelled seed, grown."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from schemas.base import Contract, DataRef, Rate
from schemas.quality import QualityMetrics
from schemas.seed_checks import AuditFigure, RowKind, SeedChecks
from schemas.synthesis import SynthesisReport


class SeedingRound(Contract):
    """What one round of acquisition and labelling did."""

    number: int = Field(ge=1)
    scored: int = Field(description="Pool rows that were scored")
    selected: int = Field(description="Rows sent to the teacher")
    accepted_from_teacher: int
    reviewed: int = Field(description="Rows that the reviewer settled")
    waiting: int = Field(description="Rows that nobody has settled yet")
    teacher_errors: dict[str, int] = Field(default_factory=dict, description="Typed error -> rows, after the one retry")
    checks_failed: dict[str, int] = Field(default_factory=dict, description="Check -> rows")
    audit: tuple[AuditFigure, ...] = Field(default=(), description="How right accepted labels are, hard and easy rows apart")
    held_back: int = Field(default=0, ge=0, description="Labels not accepted because too few of their kind are right")
    teacher_calls: int = Field(description="Calls that this round needed, paid now or before")
    prompt_tokens: int = 0
    completion_tokens: int = 0
    probe: QualityMetrics = Field(description="The probe trained on the labels after this round, on valid")


class CoverageCell(Contract):
    """Labelled rows of one intent, slot (or '-') and language: a square of the F1 heat map."""

    intent: str
    slot: str
    language: str
    rows: int


class TeacherContribution(Contract):
    """What the LLM really gave."""

    model: str = Field(description="Served name, or 'none'")
    labels: int = Field(ge=0)
    right: int | None = Field(default=None, description="Of these, frames equal to the reviewer's; None: nobody knows")
    unavailable_reason: str | None = None

    def sentence(self) -> str:
        """The line that the report prints, even when n is 0."""
        if self.labels == 0:
            share = "nothing to check"
        elif self.right is None:
            share = "how many of them are right was not measured: no reviewer's answers"
        else:
            share = f"{100 * self.right / self.labels:.0f} % of them right"
        return f"the LLM contributed {self.labels} labels, {share}"


class TeacherSpend(Contract):
    """Calls to the teacher that a lap paid for, those of later stages and of what a kill interrupted included."""

    calls: int = Field(ge=0, description="Answered, or timed out")
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    cost: float | None = Field(default=None, ge=0, description="At the prices of the settings; None: there are none")


class SeedSet(Contract):
    """What the seeding stage hands on: labelled, checked, versioned rows."""

    schema_version: Literal["1"] = "1"
    train: DataRef
    review_queue: DataRef = Field(description="Rows that wait for a person")
    labels_by_source: dict[str, int]
    rounds: tuple[SeedingRound, ...]
    teacher: TeacherContribution
    reviewer: str = Field(description="Who reviewed: 'bundled answers (demo)' or 'people'")
    coverage: tuple[CoverageCell, ...]
    agreement: Rate | None = Field(description="Share of parsed teacher frames equal to the independent labeller's")
    checks: SeedChecks = Field(default=SeedChecks(), description="What was found in the rows, and what was left out")
    spend: TeacherSpend | None = Field(default=None, description="What the teacher has cost so far; None: not recorded")
    synthesis: SynthesisReport | None = Field(default=None, description="Rows that were written; None: none were ordered")
    notes: tuple[str, ...] = Field(default=(), description="Sentences for whoever reads the figures: what ended early, and why")

    def audit_sentence(self) -> str:
        """How right accepted labels are, as far as people checked them, hard and easy rows apart."""
        said = []
        for kind in get_args(RowKind):
            figures = [figure for round_ in self.rounds for figure in round_.audit if figure.rows == kind]
            checked, right = sum(figure.checked for figure in figures), sum(figure.right for figure in figures)
            told = f"{right} of {checked} checked labels right" if checked else "not measured"
            said.append(f"{kind} rows: {told}")
        return "; ".join(said)
