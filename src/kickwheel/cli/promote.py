"""``kickwheel promote``: a version of the registry into service, with its evidence in the ledger."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.output import results


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    version: Annotated[str, typer.Argument(help="Version in the registry; left out: the one under the alias challenger")] = "",
    reason: Annotated[str, typer.Option(help="Why; needed where the gate did not let the version through")] = "",
    by: Annotated[str, typer.Option(help="Who decides; left out: this user")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Put a version in service: load it, ask it, move traffic, move the alias, write the ledger. No request fails.

    A call that was killed is finished or undone by the next one. Exit code 2: refused, and nothing has changed.

    Examples:

        kickwheel promote examples/dataops

        kickwheel promote examples/dataops 4 --reason "won the trial of March" --json

        kickwheel promote examples/dataops 4 --dry-run
    """
    from kickwheel.domain import load_domain
    from kickwheel.errors import InputError
    from kickwheel.promotion.exposures import figures_of
    from kickwheel.promotion.opening_adapter import open_mover, trial_of_version

    found = load_domain(domain)
    settings = found.resolved_settings()
    mover = open_mover(found, settings, by=by)
    chosen = version or mover.aliases.alias("challenger")
    if chosen is None:
        raise InputError("no version has the alias challenger: name one (kickwheel history)", field="VERSION")
    target = mover.aliases.version(chosen)
    trial = trial_of_version(found, settings, chosen)
    told = f"{trial.decision}: {'; '.join(trial.reasons)}" if trial else ""
    if trial and trial.decision in ("champion", "guardrail", "invalid") and not reason:
        raise InputError(f"the running trial speaks against version {chosen} ({told}): say why with --reason", field="--reason")
    if not target.gated and not reason and not (trial and trial.decision == "challenger"):
        verdict = target.gate or "it never stood before the gate"
        raise InputError(f"the gate did not let version {chosen} through ({verdict}): say why with --reason", field="--reason")
    sources = (("by hand", reason), ("trial", told), ("gate", target.gate))
    reasons = tuple(f"{source}: {text}" for source, text in sources if text)
    if dry_run:
        text = f"would promote version {chosen} ({target.name}) in the place of {mover.aliases.alias('champion') or 'nothing'}"
        sys.stdout.write(target.model_dump_json(indent=1) + "\n") if as_json else results().print(text, soft_wrap=True)
        return
    move = mover.promote(chosen, reasons=reasons, evidence=figures_of(trial) if trial else None)
    if as_json:
        sys.stdout.write(move.model_dump_json(indent=1) + "\n")
        return
    where = f"serving since revision {move.routing_revision} of the routing" if move.routing_revision else "nothing is served"
    results().print(f"version {move.to_version} ({move.adapter}) is champion; {where}", soft_wrap=True)
