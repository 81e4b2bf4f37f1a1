"""Rules as DuckDB SQL: one expression a rule, true for a row that breaks it.

``{name}`` columns are quoted, values are literals; a rule of counts (``row_count``) has no row and is not here.
"""

from __future__ import annotations

from datetime import date

from kickwheel.execution.rules import Bound, ForeignKey, Range, Rule
from kickwheel.execution.staging_adapter import literal, quoted


def breaks(rule: Rule, reference: str) -> str:
    """Expression over a row of ``source``, never NULL. ``reference``: name under which a foreign key's source is loaded."""
    return f"coalesce({_breaks(rule, reference)}, false)"


def _breaks(rule: Rule, reference: str) -> str:
    if rule.not_null:
        return " OR ".join(f"{quoted(name)} IS NULL" for name in rule.not_null)
    if rule.unique:
        present = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in rule.unique)
        return f"{present} AND count(*) OVER (PARTITION BY {', '.join(map(quoted, rule.unique))}) > 1"
    if rule.range:
        return _outside(rule.range)
    if rule.allowed:
        values = ", ".join(literal(_as_text(value)) for value in rule.allowed.values)
        return f"{_text(rule.allowed.column)} NOT IN ({values})"
    if rule.pattern:
        return f"NOT regexp_full_match({_text(rule.pattern.column)}, {literal(rule.pattern.matches)})"
    if rule.foreign_key:
        return _dangling(rule.foreign_key, reference)
    return f"NOT coalesce(({rule.sql}), true)"


def _outside(rule: Range) -> str:
    """Outside the bounds, or there and no number (time) at all."""
    times = isinstance(rule.min if rule.min is not None else rule.max, date)
    value = f"TRY_CAST({quoted(rule.column)} AS {'TIMESTAMP' if times else 'DOUBLE'})"
    parts = [f"{quoted(rule.column)} IS NOT NULL AND {value} IS NULL"]
    parts += [f"{value} < {_bound(rule.min)}"] if rule.min is not None else []
    parts += [f"{value} > {_bound(rule.max)}"] if rule.max is not None else []
    return f"coalesce({parts[0]}, false) OR {' OR '.join(f'coalesce({part}, false)' for part in parts[1:])}"


def _dangling(rule: ForeignKey, reference: str) -> str:
    known = f"(SELECT CAST({quoted(rule.key)} AS VARCHAR) FROM {reference} WHERE {quoted(rule.key)} IS NOT NULL)"  # noqa: S608
    return f"{quoted(rule.column)} IS NOT NULL AND {_text(rule.column)} NOT IN {known}"


def _bound(value: Bound | None) -> str:
    return f"TIMESTAMP {literal(value.isoformat())}" if isinstance(value, date) else str(value)


def _text(column: str) -> str:
    return f"CAST({quoted(column)} AS VARCHAR)"


def _as_text(value: str | int | float | bool) -> str:
    """As DuckDB casts it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
