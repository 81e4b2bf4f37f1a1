"""``kickwheel intent deploy``: one Prefect deployment a task, with its schedule."""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import messages, results
from kickwheel.cli.up import POOL

if TYPE_CHECKING:
    from kickwheel.execution.deployments import Change


def command(
    domain: Annotated[Path, typer.Argument(help="Folder of the domain")],
    work_pool: Annotated[str, typer.Option(help="Work pool whose workers run the tasks")] = POOL,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Bring Prefect's deployments in line with a domain's documents: one a task, with its schedule and zone.

    Doing it twice changes nothing; a changed time replaces the schedule; a task that is gone from the documents loses its
    schedule. Only deployments of this domain are touched. Exit code 1 where a task was refused; the others are deployed.

    Examples:

        kickwheel intent deploy examples/dataops --dry-run

        kickwheel intent deploy examples/dataops --work-pool gpu-pool --json | jq '.tasks[] | select(.action == "refused")'
    """
    from kickwheel.domain import load_domain

    found = load_domain(domain)
    prepare(found.resolved_settings().home)
    from kickwheel.cli.deployer import deploy, server_address

    with contextlib.redirect_stdout(sys.stderr):
        changes = deploy(found, work_pool, dry_run=dry_run, now=datetime.now(UTC))
    if not server_address():
        note = "PREFECT_API_URL is not set: schedules fire while a Prefect server and a worker run (kickwheel up starts both)"
        messages().print(note, markup=False, soft_wrap=True)
    refused = sum(change.action == "refused" for change in changes)
    if as_json:
        report = {"domain": found.name, "dry_run": dry_run, "refused": refused, "tasks": [_row(change) for change in changes]}
        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        table = Table(box=None, pad_edge=False)
        for header in ("task", "action", "schedule", "zone", "next run", "why"):
            table.add_column(header, overflow="fold")
        for change in changes:
            row = _row(change)
            columns = ("task", "action", "schedule", "zone", "next_run", "reason")
            table.add_row(*(Text(row[name] or "") for name in columns))
        results().print(table)
    if refused:
        raise typer.Exit(1)


def _row(change: Change) -> dict[str, Any]:
    schedule = change.schedule
    return {
        "task": change.task,
        "action": change.action,
        "deployment": f"execute/{change.deployment}" if change.deployment else None,
        "schedule": (schedule.cron or schedule.rrule) if schedule else None,
        "zone": schedule.zone if schedule else None,
        "next_run": change.next_run.isoformat() if change.next_run else None,
        "reason": change.reason or None,
    }
