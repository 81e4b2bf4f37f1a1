"""``kickwheel rollback``: the champion before the present one, back in service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.output import results


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    to: Annotated[str, typer.Option(help="Version to bring back; left out: the champion before the present one")] = "",
    reason: Annotated[str, typer.Option(help="Why, for the ledger")] = "",
    by: Annotated[str, typer.Option(help="Who decides; left out: this user")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Bring back the version that served before, as `kickwheel promote` does. Done again, it goes one further back.

    Exit code 2: there is none, or it does not answer; nothing has changed then.

    Examples:

        kickwheel rollback examples/dataops --reason "completion fell in production"

        kickwheel rollback examples/dataops --to 3 --dry-run
    """
    from kickwheel.domain import load_domain
    from kickwheel.promotion.opening_adapter import open_mover

    found = load_domain(domain)
    mover = open_mover(found, found.resolved_settings(), by=by)
    if dry_run:
        target = mover.aliases.version(mover.rollback_target(to))
        text = f"would bring back version {target.version} ({target.name})"
        sys.stdout.write(target.model_dump_json(indent=1) + "\n") if as_json else results().print(text, soft_wrap=True)
        return
    move = mover.rollback(to=to, reasons=(f"by hand: {reason}",) if reason else ())
    if as_json:
        sys.stdout.write(move.model_dump_json(indent=1) + "\n")
    else:
        results().print(f"version {move.to_version} ({move.adapter}) is champion again", soft_wrap=True)
