"""``enrich``: add columns of a lookup to the rows of a table or file."""

from __future__ import annotations

from kickwheel.errors import ExecutionFailed, TaskRefused
from kickwheel.execution.bindings import Binding, Lookup
from kickwheel.execution.places import Output
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.staging_adapter import quoted, staging
from kickwheel.execution.writing import (
    check_output,
    how_written,
    overlap,
    refuse_bad_output_keys,
    refuse_repeated_keys,
    write_rows,
)
from schemas.execution import ExecutionPlan, ExecutionResult
from schemas.task import TaskSchema


class EnrichExecutor:
    """Every row of the source once, with the lookup's columns; empty where the lookup has nothing for it."""

    def check(self, binding: Binding) -> tuple[str, ...]:
        """Needs a lookup and an output, and sources that are no services."""
        lookup = binding.lookup
        return tuple(
            problem
            for problem, found in (
                ("enrich needs a lookup", lookup is None),
                ("enrich needs an output", binding.output is None),
                ("enrich reads files and tables: fetch reads http", bool(binding.source.http or (lookup and lookup.http))),
                ("enrich uses no rules", bool(binding.rules)),
            )
            if found
        )

    def plan(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionPlan:
        """Counts the rows and compares the columns."""
        lookup, output = _parts(binding, surroundings)
        with staging(surroundings, on_disk=False) as rows:
            columns, count = rows.look_at("source", binding.source)
            theirs, known = rows.look_at("lookup", lookup)
        added = _added(columns, theirs, lookup)
        check_output([*columns, *added.values()], output, surroundings)
        on = ", ".join(f"{mine} = {other}" for mine, other in lookup.keys.items())
        return surroundings.plan(
            task,
            reads=(binding.source.describe(), lookup.describe()),
            writes=(output.describe(),),
            steps=(f"add {', '.join(added.values())} of {known} lookup rows to {count} rows, on {on}", how_written(output)),
            rows=count,
        )

    def run(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionResult:
        """Join."""
        lookup, output = _parts(binding, surroundings)
        with staging(surroundings) as rows:
            rows.load("source", binding.source)
            rows.load("lookup", lookup)
            added = _added(rows.columns("source"), rows.columns("lookup"), lookup)
            refuse_repeated_keys(rows, "lookup", tuple(lookup.keys.values()), lookup.describe())
            refuse_bad_output_keys(rows, "source", output, binding.source.describe())
            mine, theirs = rows.types("source"), rows.types("lookup")
            on = " AND ".join(_equal(one, mine[one], other, theirs[other]) for one, other in lookup.keys.items())
            columns = ", ".join(f"l.{quoted(name)} AS {quoted(new)}" for name, new in added.items())
            joined = f"SELECT s.*, {columns} FROM source s LEFT JOIN lookup l ON {on}"  # noqa: S608 - names are quoted
            [(unmatched,)] = rows.execute(f"SELECT count(*) FROM source s ANTI JOIN lookup l ON {on}")  # noqa: S608
            read = rows.count("source")
            written = write_rows(rows, joined, output, surroundings)
        return surroundings.result(
            task, rows_read=read, rows_written=written.rows, rows_unmatched=unmatched, outputs=(written,)
        )


def _parts(binding: Binding, surroundings: Surroundings) -> tuple[Lookup, Output]:
    if binding.lookup is None or binding.output is None:
        raise TaskRefused("enrich needs a lookup and an output")
    if problem := overlap(binding, surroundings):
        raise TaskRefused(problem)
    return binding.lookup, binding.output


def _equal(mine: str, my_type: str, other: str, their_type: str) -> str:
    """Join condition. A code that is a number in one file and text in the other is compared as text."""
    left, right = f"s.{quoted(mine)}", f"l.{quoted(other)}"
    if my_type != their_type and "VARCHAR" in (my_type, their_type):
        left, right = f"CAST({left} AS VARCHAR)", f"CAST({right} AS VARCHAR)"
    return f"{left} = {right}"


def _added(columns: tuple[str, ...], theirs: tuple[str, ...], lookup: Lookup) -> dict[str, str]:
    """Lookup column -> new name."""
    keys = set(lookup.keys.values())
    added = lookup.columns or {name: name for name in theirs if name not in keys}
    for wanted, there, what in ((lookup.keys.keys(), columns, "source"), ({*keys, *added}, theirs, "lookup")):
        missing = sorted(set(wanted) - set(there))
        if missing:
            raise ExecutionFailed(f"the {what} has no column {missing[0]!r}; it has: {', '.join(there)}")
    taken = sorted(set(added.values()) & set(columns))
    if taken:
        raise ExecutionFailed(f"the source has a column {taken[0]!r} already: name another, columns: {{{taken[0]}: NEW_NAME}}")
    if not added:
        raise ExecutionFailed("the lookup has no column to add beside its keys")
    return added
