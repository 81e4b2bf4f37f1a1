"""``kickwheel intent execute``: run one task of a domain's documents."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import results


def command(
    domain: Annotated[Path, typer.Argument(help="Folder of the domain")],
    task: Annotated[str, typer.Argument(help="The task's intent or id, e.g. sync_orders")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen; nothing is written")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result, or the plan, as one JSON object")] = False,
) -> None:
    """Run a task as its binding says (bindings.yaml). Exit code 1 where rows break a rule, 2 where it can't run.

    Examples:

        kickwheel intent execute examples/dataops sync_orders --dry-run

        kickwheel intent execute examples/dataops validate_inventory --json | jq .rules
    """
    from kickwheel.domain import load_domain
    from kickwheel.execution.domain_bindings import DomainBindings
    from kickwheel.execution.execute import find_task, plan_task, prepared, tasks_of
    from kickwheel.execution.registry import ExecutorRegistry
    from kickwheel.execution.telling import rows_of
    from schemas.execution import ExecutionPlan, ExecutionResult

    found = load_domain(domain)
    schema = find_task(tasks_of(found), task)
    told: ExecutionPlan | ExecutionResult
    if dry_run:
        told = plan_task(found, schema)
    else:
        prepared(DomainBindings.of(found), schema, ExecutorRegistry())  # refused before a flow is started for it
        prepare(found.resolved_settings().home)
        from kickwheel.cli.launcher import run_task

        # Libraries print to stdout as they like; with --json it holds the result and nothing else.
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            told = run_task(str(domain), task)
    if as_json:
        sys.stdout.write(told.model_dump_json(indent=1) + "\n")
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(overflow="fold")
        table.add_column(overflow="fold")
        for row in rows_of(told):
            table.add_row(Text(row["what"]), Text(row["value"]))
        results().print(table)
    if isinstance(told, ExecutionResult) and not told.passed:
        raise typer.Exit(1)
