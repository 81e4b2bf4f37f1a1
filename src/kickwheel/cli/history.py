"""``kickwheel history``: what is in service, and every move that led there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.output import results

if TYPE_CHECKING:
    from schemas.promotion import Standing


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Show champion, challenger and what is served, and the ledger: who moved what, when, from where and why.

    Examples:

        kickwheel history examples/dataops

        kickwheel history examples/dataops --json | jq '.moves[-1].reasons'
    """
    from kickwheel.domain import load_domain
    from kickwheel.promotion.opening_adapter import open_mover, standing

    found = load_domain(domain)
    state = standing(found, open_mover(found, found.resolved_settings()))
    if as_json:
        sys.stdout.write(state.model_dump_json(indent=1) + "\n")
    else:
        results().print("\n".join(_lines(state)), markup=False, soft_wrap=True)


def _lines(state: Standing) -> list[str]:
    served = f"{state.serving}, revision {state.routing_revision} of the routing" if state.serving else "nothing"
    lines = [f"{state.domain}: champion {state.champion or 'none'}, challenger {state.challenger or 'none'}, served: {served}"]
    if state.unfinished:
        lines.append(f"unfinished: {state.unfinished.kind} of version {state.unfinished.to_version}; the next call settles it")
    for move in state.moves:
        lines.append(
            f"{move.at[:19]}  {move.kind:<9} {move.alias}: {move.from_version or '–'} -> {move.to_version or '–'} "
            f"({move.adapter}) by {move.by}"
        )
        lines += [f"    {reason}" for reason in move.reasons]
    return lines
