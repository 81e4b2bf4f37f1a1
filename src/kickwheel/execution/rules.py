"""Rules over the rows of a table or file, as ``bindings.yaml`` writes them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from kickwheel.execution.places import Part, Source
from schemas.base import RegularExpression

Bound = int | float | datetime | date
Columns = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value), Field(min_length=1)
]


class Range(Part):
    """Values from ``min`` to ``max``, both included. Empty cells pass; text that is no number or time fails."""

    column: str
    min: Bound | None = None
    max: Bound | None = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("a range needs min, max or both")
        if isinstance(self.min, date) != isinstance(self.max, date) and None not in (self.min, self.max):
            raise ValueError("min and max are both numbers or both times")
        return self


class Allowed(Part):
    """One of some values. Empty cells pass."""

    column: str
    values: tuple[str | int | float | bool, ...] = Field(min_length=1)


class Pattern(Part):
    """A whole value matches a regular expression (RE2 syntax). Empty cells pass."""

    column: str
    matches: RegularExpression


class RowCount(Part):
    """How many rows there are."""

    min: int | None = Field(default=None, ge=0)
    max: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("a row count needs min, max or both")
        return self


class ForeignKey(Part):
    """A value stands in a column of another file or table. Empty cells pass."""

    column: str
    source: Source
    key: str = Field(description="Column of the other file or table")


class Rule(Part):
    """One rule: exactly one of the fields, and a name where its words would not do."""

    name: str = ""
    not_null: Columns | None = None
    unique: Columns | None = Field(default=None, description="Together; rows with an empty cell among them pass")
    range: Range | None = None
    allowed: Allowed | None = None
    pattern: Pattern | None = None
    row_count: RowCount | None = None
    foreign_key: ForeignKey | None = None
    sql: str | None = Field(
        default=None, min_length=1, description="DuckDB predicate on a row; a row for which it is false fails"
    )

    @model_validator(mode="after")
    def _is_one_rule(self) -> Self:
        given = [name for name in type(self).model_fields if name != "name" and getattr(self, name) is not None]
        if len(given) != 1:
            kinds = ", ".join(name for name in type(self).model_fields if name != "name")
            raise ValueError(f"expected exactly one of {kinds}; got {', '.join(given) or 'none'}")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it names; a predicate's are not told."""
        if found := self.not_null or self.unique:
            return found
        one = self.range or self.allowed or self.pattern or self.foreign_key
        return (one.column,) if one else ()

    def words(self) -> str:
        """The rule in words."""
        if self.name:
            return self.name
        if self.not_null:
            return f"{', '.join(self.not_null)} not empty"
        if self.unique:
            return f"{', '.join(self.unique)} unique"
        if self.range:
            return f"{self.range.column} {_span(self.range.min, self.range.max)}"
        if self.allowed:
            return f"{self.allowed.column} one of {', '.join(map(str, self.allowed.values))}"
        if self.pattern:
            return f"{self.pattern.column} matches {self.pattern.matches}"
        if self.row_count:
            return f"rows {_span(self.row_count.min, self.row_count.max)}"
        if self.foreign_key:
            other = self.foreign_key
            return f"{other.column} stands in {other.source.describe()} as {other.key}"
        return self.sql or ""


def _span(low: Bound | None, high: Bound | None) -> str:
    return " and ".join(
        part for part in (f">= {low}" if low is not None else "", f"<= {high}" if high is not None else "") if part
    )
