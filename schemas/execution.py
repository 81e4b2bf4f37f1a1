"""Executing a task: what would happen, what did happen, and where the rows that failed lie."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from schemas.base import Contract, DataRef, Slug
from schemas.task import SemanticVersion


class ExecutionPlan(Contract):
    """What running a task would do. Making a plan writes nothing."""

    schema_version: Literal["1"] = "1"
    domain: str
    task: Slug = Field(description="Intent of the task")
    task_id: UUID = Field(description="Id of the task's schema")
    task_version: SemanticVersion = Field(default="1.0.0", description="Of the task's schema, as the domain's registry has it")
    action: Slug
    reads: tuple[str, ...] = Field(default=(), description="Places as bindings.yaml writes them: ${NAME} is never filled in")
    writes: tuple[str, ...] = Field(default=(), description="Places as bindings.yaml writes them: ${NAME} is never filled in")
    steps: tuple[str, ...] = Field(default=(), description="What would happen, in order, in words")
    rows: int | None = Field(
        default=None, ge=0, description="Rows that the source holds now; None: not known before it is read"
    )


class RuleOutcome(Contract):
    """What a rule found in the data."""

    rule: str = Field(description="The rule in words")
    failing: int = Field(ge=0, description="Rows that break it, all counted; for a row count: rows missing or too many")


class WrittenData(Contract):
    """Rows that an execution left somewhere."""

    place: str = Field(description="As bindings.yaml writes it: ${NAME} is never filled in")
    rows: int = Field(ge=0, description="Rows written")
    file: DataRef | None = Field(default=None, description="None: the place is a table, which has no hash")


class ExecutionResult(Contract):
    """What running a task did."""

    schema_version: Literal["1"] = "1"
    domain: str
    task: Slug = Field(description="Intent of the task")
    task_id: UUID = Field(description="Id of the task's schema")
    task_version: SemanticVersion = Field(default="1.0.0", description="Of the task's schema, as the domain's registry has it")
    action: Slug
    started_at: str = Field(description="ISO 8601, UTC")
    seconds: float = Field(ge=0)
    rows_read: int = Field(ge=0, description="Rows of the source; those of a lookup are not counted")
    rows_written: int = Field(default=0, ge=0, description="Rows that the output holds of this execution")
    rows_unmatched: int = Field(default=0, ge=0, description="Rows for which a lookup had nothing")
    rows_failing: int = Field(default=0, ge=0, description="Rows that break at least one rule, each counted once")
    rules: tuple[RuleOutcome, ...] = Field(default=(), description="Every rule, broken or not, in the binding's order")
    outputs: tuple[WrittenData, ...] = Field(default=(), description="What was written where")
    failing_sample: DataRef | None = Field(
        default=None, description="JSONL of rule, number and row: the first rows that break each rule; None: no row does"
    )
    notes: tuple[str, ...] = Field(default=(), description="What is worth knowing beside the counts")

    @property
    def passed(self) -> bool:
        """Whether every rule holds; true where there is none."""
        return not any(outcome.failing for outcome in self.rules)
