"""``kickwheel deploy``: the flows of ``prefect.yaml`` on a Prefect server of your own."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import messages, results


def command(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False) -> None:
    """Apply prefect.yaml of this folder: work pool, GPU slot, deployments, and the automation that ends zombie runs.

    Doing it twice changes nothing. Every schedule is off at first; one that was switched on stays on, with its parameters; a
    bare `prefect deploy` would undo. `kickwheel up` calls this by itself. The server is the one of PREFECT_API_URL.

    Examples:

        kickwheel deploy

        PREFECT_API_URL=http://prefect.internal:4200/api kickwheel deploy --json | jq '.schedules[] | select(.active)'
    """
    from kickwheel.settings import get_settings

    prepare(get_settings().home)
    from kickwheel.cli.deployer import server_address
    from kickwheel.cli.flow_deployer import deploy_flows

    with contextlib.redirect_stdout(sys.stderr):
        done = deploy_flows()
    if not server_address():
        note = "PREFECT_API_URL is not set: schedules fire while a Prefect server and a worker run (kickwheel up starts both)"
        messages().print(note, markup=False, soft_wrap=True)
    if as_json:
        sys.stdout.write(json.dumps(dataclasses.asdict(done), indent=1) + "\n")
        return
    table = Table(box=None, pad_edge=False)
    for header in ("deployment", "schedule", "when", "zone", "switch"):
        table.add_column(header, overflow="fold")
    for item in done.schedules:
        cells = (item.deployment, item.slug, item.expression, item.zone, "on" if item.active else "off")
        table.add_row(*map(Text, cells))
    results().print(table)
    messages().print(f"automation against zombie runs: {done.zombie_automation}")
