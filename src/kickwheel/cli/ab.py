"""``kickwheel ab``: trials of a challenger on live traffic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.output import results

if TYPE_CHECKING:
    from schemas.trial import TrialVerdict


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    start: Annotated[str, typer.Option(help="Put this version of the registry on trial; 'challenger': the alias")] = "",
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="With --start: share of units that it answers")] = 0.1,
    shadow: Annotated[bool, typer.Option("--shadow", help="With --start: it is asked, and nobody sees its answers")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the trial: all traffic back to the champion")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --start or --stop: say what would be done")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Show how the trial stands: sample ratio, guardrails, completion with an interval that is valid at every look.

    Looking as often as one likes does not raise the chance of a wrong winner (docs/distillation.md).
    Exit codes: 0 shown or done, 1 no trial is running, 2 refused, 3 the trial is invalid or hit a guardrail.

    Examples:

        kickwheel ab examples/dataops

        kickwheel ab examples/dataops --start challenger --share 0.1

        kickwheel ab examples/dataops --json | jq .decision
    """
    from kickwheel.domain import load_domain
    from kickwheel.errors import InputError
    from kickwheel.feedback.opening import store_url
    from kickwheel.promotion.opening_adapter import look_at_trial, open_mover

    found = load_domain(domain)
    settings = found.resolved_settings()
    if start and stop:
        raise InputError("a trial is started or stopped, not both", field="--stop")
    if start or stop:
        mover = open_mover(found, settings)
        version = (mover.aliases.alias("challenger") or "") if start == "challenger" else start
        if start and not version:
            raise InputError("no version has the alias challenger: name one", field="--start")
        if dry_run:
            text = f"would put version {version} on trial" if start else "would end the trial"
            results().print(text, soft_wrap=True)
            return
        if start:
            name = f"{found.name}-{version}-{len(mover.ledger.lines()) + 1}"
            move = mover.start_trial(version, share=share, shadow=shadow, experiment=name)
        else:
            ended = mover.end_trial(reasons=("by hand",))
            if ended is None:
                results().print("no trial is running")
                raise typer.Exit(1)
            move = ended
        text = f"{move.kind}: {move.adapter}, experiment {move.experiment}, revision {move.routing_revision} of the routing"
        sys.stdout.write(move.model_dump_json(indent=1) + "\n") if as_json else results().print(text, soft_wrap=True)
        return
    verdict = look_at_trial(found, settings, store_url(settings, found.name))
    if verdict is None:
        sys.stdout.write("null\n") if as_json else results().print("no trial is running (kickwheel ab DOMAIN --start VERSION)")
        raise typer.Exit(1)
    if as_json:
        sys.stdout.write(verdict.model_dump_json(indent=1) + "\n")
    else:
        results().print("\n".join(_lines(verdict)), markup=False, soft_wrap=True)
    if verdict.decision in ("invalid", "guardrail"):
        raise typer.Exit(3)


def _lines(verdict: TrialVerdict) -> list[str]:
    lines = [f"{verdict.experiment}: {verdict.decision}", *verdict.reasons]
    for arm in (verdict.champion, verdict.challenger):
        speed = f", P95 {arm.p95_ms:.0f} ms" if arm.p95_ms is not None else ""
        lines.append(
            f"{arm.arm} ({arm.model or 'no answers'}): {arm.units} units, {arm.answers} answers, {arm.judged_units} units "
            f"judged, completion {100 * arm.completion:.1f} %, errors {100 * arm.error_rate:.1f} %{speed}"
        )
    return lines
