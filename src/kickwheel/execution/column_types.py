"""Column types on their way between SQLAlchemy and Arrow. What has no counterpart travels as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

_DIGITS = 38
"""Most digits of a decimal in DuckDB."""


def arrow_type(kind: sa.types.TypeEngine[Any], exact_decimals: bool) -> pa.DataType:
    """Arrow's type for a database's. ``exact_decimals``: whether the driver has decimals; SQLite's are floats."""
    import pyarrow as pa
    import sqlalchemy as sa

    if isinstance(kind, sa.Boolean):
        return pa.bool_()
    if isinstance(kind, sa.Integer):
        return pa.int64()
    if isinstance(kind, sa.Float):
        return pa.float64()
    if isinstance(kind, sa.Numeric):
        fits = exact_decimals and kind.precision is not None and kind.precision <= _DIGITS
        return pa.decimal128(kind.precision, kind.scale or 0) if fits else pa.float64()
    if isinstance(kind, sa.DateTime):
        return pa.timestamp("us", tz="UTC" if kind.timezone else None)
    if isinstance(kind, sa.Date):
        return pa.date32()
    if isinstance(kind, sa.Time):
        return pa.time64("us")
    return pa.binary() if isinstance(kind, sa.LargeBinary) else pa.string()


def sql_type(kind: pa.DataType) -> sa.types.TypeEngine[Any]:
    """A database's type for Arrow's."""
    import pyarrow.types as is_
    import sqlalchemy as sa

    if is_.is_boolean(kind):
        return sa.Boolean()
    if is_.is_integer(kind):
        return sa.Numeric(20, 0) if is_.is_uint64(kind) else sa.BigInteger()
    if is_.is_floating(kind):
        return sa.Double()
    if is_.is_decimal(kind):
        return sa.Numeric(kind.precision, kind.scale)
    if is_.is_timestamp(kind):
        return sa.DateTime(timezone=kind.tz is not None)
    if is_.is_date(kind):
        return sa.Date()
    if is_.is_time(kind):
        return sa.Time()
    return sa.LargeBinary() if is_.is_binary(kind) or is_.is_large_binary(kind) else sa.Text()


def as_arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values of a column as Arrow has them.

    Raises:
        pa.ArrowInvalid, pa.ArrowTypeError: a value is not of that type (SQLite lets any in).
    """
    import pyarrow as pa

    return pa.array([_text(value) for value in values] if pa.types.is_string(kind) else values, type=kind)


def nested_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Columns of lists and records, which databases take as JSON text."""
    import pyarrow.types as is_

    return tuple(field.name for field in schema if is_.is_nested(field.type))


def as_json(value: Any) -> str | None:
    """A list or record as JSON text."""
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return as_json(value) if isinstance(value, dict | list) else str(value)
