"""Rows of a query, written where a binding's output says."""

from __future__ import annotations

from collections.abc import Sequence

from kickwheel.errors import ExecutionFailed
from kickwheel.execution.bindings import Binding
from kickwheel.execution.places import Output, Source
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.staging_adapter import Staging, quoted
from kickwheel.execution.table_adapter import Table, missing_columns
from schemas.execution import WrittenData


def write_rows(staging: Staging, sql: str, output: Output, surroundings: Surroundings) -> WrittenData:
    """Write the rows of a query, as a whole or not at all.

    Raises:
        ExecutionFailed: rows and output do not fit, or a key stands in more than one row.
        ServiceUnavailable: the database can't be reached.
    """
    if output.file is not None:
        file = staging.write_file(sql, surroundings.path(output.file))
        return WrittenData(place=output.describe(), rows=file.rows, file=file)
    schema, batches = staging.batches(sql)
    with Table.open(output, surroundings.placeholders, make_file=True) as table:
        rows = table.replace(schema, batches, output.key)
    return WrittenData(place=output.describe(), rows=rows)


def how_written(output: Output) -> str:
    """What :func:`write_rows` does, in words."""
    if output.file is not None:
        return f"write {output.describe()} under a temporary name and move it into place"
    what = f"the rows with the same {', '.join(output.key)}" if output.key else "all rows"
    return f"in one transaction, replace {what} of {output.describe()}"


def check_output(columns: Sequence[str], output: Output, surroundings: Surroundings) -> None:
    """Whether rows with these columns can be written there. Makes nothing.

    Raises:
        ExecutionFailed: the table lacks one.
    """
    if output.table is not None:
        missing = missing_columns(output, columns, surroundings.placeholders)
        if missing:
            raise ExecutionFailed(f"{output.describe()} has no column {missing[0]!r}")
    absent = [name for name in output.key if name not in columns]
    if absent:
        raise ExecutionFailed(f"key {absent[0]!r} of {output.describe()} is no column; there are: {', '.join(columns)}")


def refuse_bad_output_keys(staging: Staging, name: str, output: Output, place: str) -> None:
    """Whether every row has a key of its own, where the output has one: else a second run would double rows.

    Raises:
        ExecutionFailed: a key is empty or stands in more than one row.
    """
    if not output.key:
        return
    refuse_repeated_keys(staging, name, output.key, place)
    empty = " OR ".join(f"{quoted(key)} IS NULL" for key in output.key)
    [(rows,)] = staging.execute(f"SELECT count(*) FROM {name} WHERE {empty}")  # noqa: S608 - names are quoted
    if rows:
        raise ExecutionFailed(f"{place}: {rows} rows have an empty cell in the key {', '.join(output.key)}")


def refuse_repeated_keys(staging: Staging, name: str, keys: Sequence[str], place: str) -> None:
    """Whether a key stands in one row only; rows with an empty cell in it have none.

    Raises:
        ExecutionFailed: names some of the keys that stand in more.
    """
    missing = [key for key in keys if key not in staging.columns(name)]
    if missing:
        raise ExecutionFailed(f"{place}: key {missing[0]!r} is no column; there are: {', '.join(staging.columns(name))}")
    told = " || ', ' || ".join(f"CAST({quoted(key)} AS VARCHAR)" for key in keys)
    columns = ", ".join(map(quoted, keys))
    present = " AND ".join(f"{quoted(key)} IS NOT NULL" for key in keys)
    groups = f"SELECT {told} AS told, count(*) AS times FROM {name} WHERE {present} GROUP BY {columns} HAVING count(*) > 1"  # noqa: S608
    [(repeated,)] = staging.execute(f"SELECT count(*) FROM ({groups})")  # noqa: S608 - names are quoted
    if repeated:
        first = staging.execute(f"{groups} ORDER BY told LIMIT 5")
        some = "; ".join(f"{key} ({times} rows)" for key, times in first) + ("; …" if repeated > len(first) else "")
        raise ExecutionFailed(f"{place}: {repeated} keys of {', '.join(keys)} stand in more than one row: {some}")


def overlap(binding: Binding, surroundings: Surroundings) -> str:
    """Why what is read can't be written; empty: it is not."""
    output, sources = binding.output, [binding.source, binding.lookup]
    for source in sources:
        if isinstance(source, Source) and output and not source.http and surroundings.same_place(source, output):
            return f"{output.describe()} would be read and written: name another output"
    return ""
