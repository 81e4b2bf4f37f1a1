"""``kickwheel distill``: what users have said since the last time, into a gated challenger."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import results

if TYPE_CHECKING:
    from schemas.triggers import DistillOutcome


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    if_due: Annotated[bool, typer.Option("--if-due", help="Only if a trigger fires; else on any new evidence")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the triggers say, and do nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Distil new feedback in a lap of its own: signals, targets, challenger, gate, promotion. One runs at a time.

    Labelling and load tests are not done anew: the last whole lap's results stand in for them.
    Exit codes: 0 done, or nothing was due; 2 refused.

    Examples:

        kickwheel distill examples/dataops

        kickwheel distill examples/dataops --dry-run --json | jq .verdict

        kickwheel distill examples/dataops --if-due
    """
    from kickwheel.domain import load_domain
    from schemas.triggers import DistillOutcome

    found = load_domain(domain)
    settings = found.resolved_settings()
    prepare(settings.home)
    if dry_run:
        from kickwheel.distillation.trigger_look import look_at

        verdict = look_at(settings, found.name, by_hand=not if_due)
        outcome = DistillOutcome(domain=found.name, verdict=verdict, ran=False)
    else:
        from kickwheel.cli.launcher import run_feedback_lap

        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            outcome = run_feedback_lap(str(domain), by_hand=not if_due)
    if as_json:
        sys.stdout.write(outcome.model_dump_json(indent=1) + "\n")
    else:
        results().print("\n".join(_lines(outcome)), markup=False, soft_wrap=True)


def _lines(outcome: DistillOutcome) -> list[str]:
    seen = outcome.verdict
    lines = [
        f"{outcome.domain}: {seen.new_answers} answers since the last distillation, {seen.telling_answers} judged by somebody; "
        f"stability index {seen.stability_index:.2f}, low confidence {100 * seen.low_confidence:.0f} %",
        "due: " + ("; ".join(seen.fired) if seen.due else "no"),
    ]
    if outcome.ran:
        lines.append(f"lap {outcome.lap}: gate {outcome.gate or 'had nothing to judge'}; champion {outcome.champion}")
        lines += [f"    {reason}" for reason in outcome.reasons]
    return lines
