"""``kickwheel check``: everything that is wrong with a domain."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.output import messages


def command(
    domain: Annotated[Path, typer.Argument(help="Folder of the domain")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Check a domain's files against each other; every problem comes with file, line and field.

    Exit code 1 where there is a problem.

    Examples:

        kickwheel check examples/dataops

        kickwheel check examples/dataops --json | jq '.problems[].file'
    """
    from kickwheel.domain import check_domain, load_domain, notes_of

    problems = check_domain(domain)
    notes = [] if problems else notes_of(load_domain(domain))
    if as_json:
        found = [
            {"file": str(item.file) if item.file else None, "line": item.line, "field": item.field, "message": item.message}
            for item in problems
        ]
        report = {"domain": str(domain), "ok": not problems, "problems": found, "notes": notes}
        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        for problem in problems:
            messages().print(str(problem), markup=False, soft_wrap=True)
        for note in notes:
            messages().print(f"note: {note}", markup=False, soft_wrap=True)
        sys.stdout.write(f"{domain}: {len(problems)} problem{'s' * (len(problems) != 1)}\n" if problems else f"{domain}: ok\n")
    if problems:
        raise typer.Exit(1)
