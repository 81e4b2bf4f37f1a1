"""``sync``: a table or file to a table or file."""

from __future__ import annotations

from kickwheel.errors import TaskRefused
from kickwheel.execution.bindings import Binding
from kickwheel.execution.places import Output
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.staging_adapter import staging
from kickwheel.execution.writing import check_output, how_written, overlap, refuse_bad_output_keys, write_rows
from schemas.execution import ExecutionPlan, ExecutionResult
from schemas.task import TaskSchema


class SyncExecutor:
    """Copies all rows of the source; the output then holds them once, however often this runs."""

    def check(self, binding: Binding) -> tuple[str, ...]:
        """Needs an output, and a source that is no service."""
        return tuple(
            problem
            for problem, found in (
                ("sync needs an output", binding.output is None),
                ("sync reads a file or a table: fetch reads http", binding.source.http is not None),
                ("sync uses no lookup and no rules", bool(binding.lookup or binding.rules)),
            )
            if found
        )

    def plan(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionPlan:
        """Counts the rows and compares the columns."""
        output = _output(binding, surroundings)
        with staging(surroundings, on_disk=False) as rows:
            columns, count = rows.look_at("source", binding.source)
        check_output(columns, output, surroundings)
        return surroundings.plan(
            task,
            reads=(binding.source.describe(),),
            writes=(output.describe(),),
            steps=(f"read {count} rows with the columns {', '.join(columns)}", how_written(output)),
            rows=count,
        )

    def run(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionResult:
        """Copy."""
        output = _output(binding, surroundings)
        with staging(surroundings) as rows:
            rows.load("source", binding.source)
            refuse_bad_output_keys(rows, "source", output, binding.source.describe())
            read = rows.count("source")
            written = write_rows(rows, "FROM source", output, surroundings)
        return surroundings.result(task, rows_read=read, rows_written=written.rows, outputs=(written,))


def _output(binding: Binding, surroundings: Surroundings) -> Output:
    if binding.output is None:
        raise TaskRefused("sync needs an output")
    if problem := overlap(binding, surroundings):
        raise TaskRefused(problem)
    return binding.output
