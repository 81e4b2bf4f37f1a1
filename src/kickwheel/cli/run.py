"""``kickwheel run``: one lap of the wheel, or some of its stages."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated, get_args

import typer

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import messages, results
from kickwheel.errors import InputError
from schemas.lap import STAGES, LapReport, Stage


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    stages: Annotated[str, typer.Option(help=f"Comma-separated, in any order: {', '.join(STAGES)}")] = "",
    lap: Annotated[int, typer.Option(min=0, help="Lap number; 0 takes up the unfinished one or opens the next")] = 0,
    deployment: Annotated[str, typer.Option(help="Trigger this Prefect deployment and follow it, e.g. iteration/local")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object on stdout")] = False,
) -> None:
    """Run one lap: intent, seeding, tuning, throughput, distillation, report.

    A lap that was killed is taken up where it was: finished work is not redone, no teacher call is repeated.

    Examples:

        kickwheel run examples/dataops

        kickwheel run examples/dataops --stages intent,seeding

        kickwheel run examples/dataops --json | python -m json.tool

        kickwheel run examples/dataops --deployment iteration/local
    """
    from kickwheel.domain import load_domain
    from kickwheel.settings import get_settings

    chosen = parse_stages(stages)
    found = load_domain(domain)  # says what is wrong before anything is started
    settings = get_settings(found.settings)
    prepare(settings.home)
    if deployment:
        _follow(deployment, domain, chosen, lap, as_json)
        return
    from kickwheel.cli.launcher import run_lap

    # Libraries print to stdout as they like; with --json it holds the report and nothing else.
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        report = run_lap(str(domain), chosen, lap)
    _show(report, as_json)


def parse_stages(text: str) -> tuple[Stage, ...]:
    """Stages named in a comma-separated list, in lap order; all of them where the list is empty.

    Raises:
        InputError: an unknown name.
    """
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    unknown = sorted(set(wanted) - set(get_args(Stage)))
    if unknown:
        raise InputError(f"unknown stage {', '.join(unknown)}: expected some of {', '.join(STAGES)}", field="--stages")
    return tuple(stage for stage in STAGES if stage in wanted) if wanted else STAGES


def _show(report: LapReport, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(report.model_dump_json(indent=1) + "\n")
        return
    from kickwheel.reporting.table import lap_table

    results().print(lap_table(report))
    if report.html:
        results().print(f"report: {report.html}", soft_wrap=True)


def _follow(deployment: str, domain: Path, stages: tuple[Stage, ...], lap: int, as_json: bool) -> None:
    from kickwheel.cli.launcher import run_deployment

    console = messages()
    ended = run_deployment(deployment, str(domain), stages, lap, lambda line: console.print(line, markup=False, soft_wrap=True))
    if as_json:
        sys.stdout.write(json.dumps(ended.__dict__) + "\n")
    if ended.state != "Completed":
        raise typer.Exit(1)
