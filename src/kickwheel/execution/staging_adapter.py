"""DuckDB, where rows of files and tables meet: views on files, copies of tables, and files written as a whole.

Rows go through in batches: what does not fit into memory lies in the staging folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.errors import ExecutionFailed
from kickwheel.execution.atomic_file import atomic_file, passing_folder
from kickwheel.execution.places import Place, Source
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.table_adapter import Table
from kickwheel.workspace import hash_file
from schemas.base import DataRef

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS = 20_000
"""Rows in memory at a time, between a database and DuckDB."""
_FORMATS = {".parquet": "FORMAT parquet", ".jsonl": "FORMAT json", ".csv": "FORMAT csv, HEADER"}
_INEXACT = r"^[-+]?(0[0-9]|[0-9]{16})"
"""Text that a number does not keep: leading zeros, and more digits than a double holds."""


class Staging:
    """A DuckDB connection. Names of its tables are ours; those of columns are the data's, always quoted."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, surroundings: Surroundings):
        self._connection = connection
        self._surroundings = surroundings

    def load(self, name: str, source: Source) -> None:
        """Make the rows of a source known as ``name``: a view on a file, a copy of a database's table.

        Raises:
            ExecutionFailed: the source is not there or can't be read.
            ServiceUnavailable: the database can't be reached.
        """
        import pyarrow as pa

        if source.table is None:
            self._view(name, source)
            return
        with Table.open(source, self._surroundings.placeholders) as table:
            self._take(f"CREATE TABLE {name} AS FROM incoming", table.schema().empty_table())
            for batch in table.batches(BATCH_ROWS):
                self._take(f"INSERT INTO {name} FROM incoming", pa.Table.from_batches([batch]))

    def look_at(self, name: str, source: Source) -> tuple[tuple[str, ...], int]:
        """Columns of a source and how many rows it holds, copying nothing. Raises what :meth:`load` does."""
        if source.table is None:
            self._view(name, source)
            return self.columns(name), self.count(name)
        with Table.open(source, self._surroundings.placeholders) as table:
            return tuple(table.schema().names), table.count()

    def columns(self, name: str) -> tuple[str, ...]:
        """Columns of a loaded source."""
        return tuple(self.types(name))

    def types(self, name: str) -> dict[str, str]:
        """Columns of a loaded source with DuckDB's types."""
        return self._types(name)

    def count(self, name: str) -> int:
        """Rows of a loaded source."""
        return int(self.execute(f"SELECT count(*) FROM {name}")[0][0])  # noqa: S608 - the name is ours

    def execute(self, sql: str, *, place: Place | None = None) -> list[tuple[Any, ...]]:
        """Rows of a query; ``place``: what an error is about.

        Raises:
            ExecutionFailed: DuckDB refuses it, or a value in the data.
        """
        with self._told(place):
            return self._connection.execute(sql).fetchall()

    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Schema and rows of a query, batch by batch."""
        with self._told():
            reader = self._connection.sql(sql).to_arrow_reader(BATCH_ROWS)
        return reader.schema, self._read(reader)

    def write_file(self, sql: str, path: Path) -> DataRef:
        """Write the rows of a query to a file, as a whole or not at all."""
        form = _FORMATS[path.suffix.lower()]
        with atomic_file(path) as temporary:
            rows = self.execute(f"COPY ({sql}) TO {literal(str(temporary))} ({form})")[0][0]
            digest = hash_file(temporary)
        return DataRef(path=str(path), sha256=digest, rows=rows)

    def _take(self, sql: str, incoming: pa.Table) -> None:
        """Run a statement that reads ``incoming``."""
        self._connection.register("incoming", incoming)
        try:
            self.execute(sql)
        finally:
            self._connection.unregister("incoming")

    def _read(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        with self._told():
            yield from reader

    def _view(self, name: str, source: Source) -> None:
        path = self._surroundings.path(source.file or "")
        if not path.is_file():
            raise ExecutionFailed(f"{source.describe()}: there is no such file")
        file, kind = literal(str(path)), path.name.lower()
        if kind.endswith(".parquet"):
            reader = f"read_parquet({file})"
        elif kind.endswith((".jsonl", ".jsonl.gz")):
            reader = f"read_json({file}, format = 'newline_delimited', sample_size = -1)"
        else:
            reader = self._csv(file, source)
        self.execute(f"CREATE VIEW {name} AS FROM {reader}", place=source)

    def _csv(self, file: str, source: Source) -> str:
        """A CSV file by its own types, told from all rows; numbers that would lose digits stay text."""
        told = self._types(_read_csv(file, source.types), source)
        numbers = [name for name, kind in told.items() if kind in ("BIGINT", "DOUBLE") and name not in source.types]
        if not numbers:
            return _read_csv(file, source.types)
        checks = ", ".join(f"bool_or(regexp_matches({quoted(name)}, {literal(_INEXACT)}))" for name in numbers)
        text = f"read_csv({file}, header = true, all_varchar = true)"
        [found] = self.execute(f"SELECT {checks} FROM {text}", place=source)  # noqa: S608 - names are quoted
        inexact = {name: "VARCHAR" for name, is_inexact in zip(numbers, found, strict=True) if is_inexact}
        return _read_csv(file, {**source.types, **inexact})

    def _types(self, rows: str, place: Place | None = None) -> dict[str, str]:
        return {row[0]: row[1] for row in self.execute(f"DESCRIBE FROM {rows}", place=place)}

    @contextmanager
    def _told(self, place: Place | None = None) -> Iterator[None]:
        """DuckDB's errors as ours, without secrets."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            where = f"{place.describe()}: " if place else ""
            raise ExecutionFailed(where + self._surroundings.placeholders.hide(str(error))) from None


@contextmanager
def staging(surroundings: Surroundings, *, on_disk: bool = True) -> Iterator[Staging]:
    """A staging database for the time of the block; ``on_disk`` False leaves nothing on disk, not even for that time."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,  # nothing is fetched from the network behind anybody's back
        "autoload_known_extensions": False,
    }
    with passing_folder(surroundings.work) if on_disk else _nowhere() as folder:
        if folder:
            settings["temp_directory"] = str(folder / "spilled")
        connection = duckdb.connect(str(folder / "staging.duckdb") if folder else ":memory:", config=settings)
        try:
            connection.execute("SET TimeZone = 'UTC'")  # never the host's
            yield Staging(connection, surroundings)
        finally:
            connection.close()


@contextmanager
def _nowhere() -> Iterator[None]:
    yield None


def _read_csv(file: str, types: Mapping[str, str]) -> str:
    wanted = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
    return f"read_csv({file}, header = true, sample_size = -1{f', types = {{{wanted}}}' if wanted else ''})"


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
