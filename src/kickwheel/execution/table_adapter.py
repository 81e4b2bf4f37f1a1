"""Tables of databases, through SQLAlchemy: read in batches, written in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.database_refusal import is_refusal
from kickwheel.errors import ExecutionFailed, KickwheelError, ServiceUnavailable, TaskRefused
from kickwheel.execution.column_types import arrow_type, as_arrow, as_json, nested_columns, sql_type
from kickwheel.execution.placeholders import Placeholders
from kickwheel.execution.places import Place

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa


class Table:
    """A table, by a connection whose transaction ends with the block that opened it."""

    def __init__(self, connection: sa.Connection, place: Place):
        self._connection = connection
        self._place = place
        schema, _, name = (place.table or "").rpartition(".")
        self._schema, self._name = schema or None, name

    @classmethod
    @contextmanager
    def open(cls, place: Place, placeholders: Placeholders, *, make_file: bool = False) -> Iterator[Table]:
        """Connect and begin. The block's end commits; an exception, or a kill, leaves the table as it was.

        Args:
            make_file: SQLite: a database file that is not there is made, not an error.

        Raises:
            TaskRefused: a variable is not set, the database's driver is not installed, or user, password or database are wrong.
            ServiceUnavailable: the database can't be reached, or is locked.
            ExecutionFailed: the database refuses what is asked of it.
        """
        import sqlalchemy as sa

        engine = _engine(place, placeholders)
        if missing := _missing_file(engine):
            if not make_file:
                raise ExecutionFailed(f"{place.describe()}: there is no such database file")
            missing.parent.mkdir(parents=True, exist_ok=True)
        try:
            with engine.begin() as connection:
                yield cls(connection, place)
        except sa.exc.DBAPIError as error:
            kind: type[KickwheelError] = ServiceUnavailable if isinstance(error, sa.exc.OperationalError) else ExecutionFailed
            if is_refusal(error.orig):
                kind = TaskRefused
            # Not chained: the driver's own traceback may hold the filled-in address.
            raise kind(f"{place.describe()}: {placeholders.hide(str(error.orig))}") from None
        except sa.exc.SQLAlchemyError as error:
            raise ExecutionFailed(f"{place.describe()}: {placeholders.hide(str(error))}") from None
        finally:
            engine.dispose()

    @property
    def _exists(self) -> bool:
        """Whether the database has it."""
        import sqlalchemy as sa

        return sa.inspect(self._connection).has_table(self._name, schema=self._schema)

    def schema(self) -> pa.Schema:
        """Columns and their types.

        Raises:
            ExecutionFailed: there is no such table.
        """
        import pyarrow as pa

        exact = self._connection.dialect.supports_native_decimal
        return pa.schema([(column.name, arrow_type(column.type, exact)) for column in self._reflected().columns])

    def count(self) -> int:
        """Rows that it holds."""
        import sqlalchemy as sa

        return int(self._connection.scalar(sa.select(sa.func.count()).select_from(self._reflected())) or 0)

    def batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """All rows, at most ``size`` in memory."""
        import pyarrow as pa
        import sqlalchemy as sa

        table, schema = self._reflected(), self.schema()
        for column in table.columns:
            if isinstance(column.type, sa.Numeric) and not self._connection.dialect.supports_native_decimal:
                column.type = sa.Float()
        found = self._connection.execution_options(yield_per=size).execute(sa.select(*table.columns))
        for rows in self._partitions(found):
            columns = []
            for field, values in zip(schema, zip(*rows, strict=True), strict=True):
                try:
                    columns.append(as_arrow(values, field.type))
                except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                    raise ExecutionFailed(f"{self._place.describe()}: column {field.name!r}: {error}") from error
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _partitions(self, found: sa.CursorResult[Any]) -> Iterator[Sequence[sa.Row[Any]]]:
        try:
            yield from found.partitions()
        except (ValueError, TypeError) as error:  # SQLite keeps any text in a column of times; SQLAlchemy then can't read it
            raise ExecutionFailed(f"{self._place.describe()}: a value is not of its column's type: {error}") from error

    def replace(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], key: Sequence[str]) -> int:
        """Put rows in the place of those with the same ``key``, or of all; makes the table if there is none. Rows written.

        Raises:
            ExecutionFailed: the table lacks a column of the rows.
        """
        import sqlalchemy as sa

        table = self._ready(schema)
        if not key:
            self._connection.execute(sa.delete(table))
        old = sa.delete(table).where(*(table.c[name] == sa.bindparam(f"key_{name}") for name in key))
        nested = nested_columns(schema)
        written = 0
        for batch in batches:
            rows = batch.to_pylist()
            for row, name in product(rows, nested):
                row[name] = as_json(row[name])
            if key and rows:
                self._connection.execute(old, [{f"key_{name}": row[name] for name in key} for row in rows])
            if rows:
                self._connection.execute(sa.insert(table), rows)
            written += len(rows)
        return written

    def _ready(self, schema: pa.Schema) -> sa.Table:
        import sqlalchemy as sa

        if self._exists:
            found = self._reflected()
            missing = [name for name in schema.names if name not in found.columns]
            if missing:
                own = _listed(column.name for column in found.columns)
                raise ExecutionFailed(f"{self._place.describe()} has no column {missing[0]!r}; it has: {own}")
            return found
        columns: list[Any] = [sa.Column(field.name, sql_type(field.type)) for field in schema]
        table = sa.Table(self._name, sa.MetaData(), *columns, schema=self._schema)
        table.create(self._connection)
        return table

    def _reflected(self) -> sa.Table:
        import sqlalchemy as sa

        try:
            return sa.Table(self._name, sa.MetaData(), schema=self._schema, autoload_with=self._connection)
        except sa.exc.NoSuchTableError:
            there = _listed(sa.inspect(self._connection).get_table_names(schema=self._schema))
            raise ExecutionFailed(f"{self._place.describe()}: there is no such table; there are: {there}") from None


def _engine(place: Place, placeholders: Placeholders) -> sa.Engine:
    import sqlalchemy as sa

    try:
        engine = sa.create_engine(
            placeholders.fill(place.url or ""),
            poolclass=sa.NullPool,
            hide_parameters=True,  # rows do not belong in error messages
            json_serializer=lambda value: json.dumps(value, ensure_ascii=False),
        )
    except (sa.exc.ArgumentError, ModuleNotFoundError, ValueError) as error:
        raise TaskRefused(f"{place.describe()}: {placeholders.hide(str(error))}") from None
    if engine.dialect.name == "sqlite":
        # sqlite3 begins a transaction before the first INSERT only: a table made before it would survive a rollback.
        sa.event.listen(engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def missing_columns(place: Place, names: Sequence[str], placeholders: Placeholders) -> tuple[str, ...]:
    """Those of the names that a table has no column for; a table that is not there yet takes all. Makes nothing.

    Raises:
        As :meth:`Table.open`.
    """
    engine = _engine(place, placeholders)
    engine.dispose()
    if _missing_file(engine):
        return ()
    with Table.open(place, placeholders) as table:
        own = table.schema().names if table._exists else names
    return tuple(name for name in names if name not in own)


def _missing_file(engine: sa.Engine) -> Path | None:
    """File of a SQLite database, where it is not there: connecting would make it."""
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" and not name.startswith("file:") and not Path(name).exists() else None


def _listed(names: Iterable[str], most: int = 20) -> str:
    found = list(names)
    return (", ".join(found[:most]) + (", …" if len(found) > most else "")) or "none"
