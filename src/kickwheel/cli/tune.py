"""``kickwheel tune``: train one kind of student, or several beside each other."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import messages, results
from kickwheel.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from schemas.student import PlanPreview, StudentKind, StudentReport

_KINDS = ("causal", "encoder")


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    student: Annotated[
        list[str],
        typer.Option("--student", help="causal (writes the frame) or encoder (classifies and tags); may be repeated"),
    ] = ["causal"],  # noqa: B006
    full: Annotated[bool, typer.Option("--full", help="Every weight instead of LoRA, as an arm to compare with")] = False,
    from_run: Annotated[str, typer.Option(help="Train again what this MLflow run trained, and compare the weights")] = "",
    rank: Annotated[int, typer.Option(min=0, help="Rank of LoRA; 0: from the data")] = 0,
    epochs: Annotated[float, typer.Option(min=0, help="Passes over the rows; 0: from the data")] = 0.0,
    learning_rate: Annotated[float, typer.Option(min=0, help="Peak rate; 0: from the data")] = 0.0,
    batch_size: Annotated[int, typer.Option(min=0, help="Rows a step; 0: from the data")] = 0,
    max_tokens: Annotated[int, typer.Option(min=0, help="Trained tokens of the causal student; 0: the setting's")] = 0,
    lap: Annotated[int, typer.Option(min=0, help="Lap number; 0 takes up the unfinished one or opens the next")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, its reasons and warnings; train nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout")] = False,
) -> None:
    """Train students on the lap's labelled rows (else the last lap's, else the domain's seeds) and compare them on eval.

    Each student is a child run of the lap in MLflow. No teacher is asked. A killed training is taken up at its last checkpoint
    by the same command; SIGTERM leaves a checkpoint and a run marked KILLED. Exit code 1: --from-run gave other weights.

    Examples:

        kickwheel tune examples/dataops --student causal

        kickwheel tune examples/dataops --student causal --student encoder

        kickwheel tune examples/dataops --student encoder --full

        kickwheel tune examples/dataops --student encoder --dry-run --json

        kickwheel tune examples/dataops --from-run 3f0c…

        KICKWHEEL_ROBUST__CONTRASTIVE=0.1 kickwheel tune examples/dataops --student encoder
    """
    from kickwheel.domain import load_domain
    from kickwheel.settings import get_settings

    kinds = parse_kinds(student)
    _set(rank=rank, epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, max_tokens=max_tokens)
    found = load_domain(domain)
    settings = get_settings(found.settings)
    prepare(settings.home)
    if dry_run:
        from kickwheel.tuning.preview import preview
        from kickwheel.workspace import Lap, next_lap

        at = Lap(settings.home / found.name / "laps" / f"{lap:04d}", lap) if lap else next_lap(settings.home, found.name)
        _show_plans([preview(found, settings, at, kind, "full" if full else "lora") for kind in kinds], as_json)
        return
    from kickwheel.cli.launcher import tune_students

    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        reports = tune_students(str(domain), kinds, full, from_run, lap)
    _show(reports, as_json)
    if any(report.same_as_run is False for report in reports):
        raise typer.Exit(1)


def parse_kinds(names: list[str]) -> tuple[StudentKind, ...]:
    """Kinds of students, each once, in the order of their names.

    Raises:
        InputError: an unknown one.
    """
    wanted = [name.strip() for item in names for name in item.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(_KINDS)):
        raise InputError(f"unknown student {', '.join(unknown)}: expected {' or '.join(_KINDS)}", field="--student")
    return tuple(name for name in _KINDS if name in wanted)  # type: ignore[misc]


def _set(*, rank: int, epochs: float, learning_rate: float, batch_size: int, max_tokens: int) -> None:
    """Options are settings like any other: they stand in the environment, where they win over ``domain.yaml``."""
    for name, value in {"R": rank, "EPOCHS": epochs, "LEARNING_RATE": learning_rate, "BATCH_SIZE": batch_size}.items():
        if value:
            os.environ[f"KICKWHEEL_TUNING__{name}"] = os.environ[f"KICKWHEEL_ENCODER__{name}"] = str(value)
    if max_tokens:
        os.environ["KICKWHEEL_TUNING__MAX_TOKENS"] = str(max_tokens)


def _show(reports: list[StudentReport], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"students": [report.model_dump(mode="json") for report in reports]}, indent=1) + "\n")
        return
    results().print(student_table(reports))
    for report in reports:
        results().print(f"{report.recipe.arm}: {report.promotion}; {report.artifact.path}", markup=False, soft_wrap=True)
        if report.same_as_run is not None:
            word = "the same weights as" if report.same_as_run else "OTHER weights than"
            results().print(f"{report.recipe.arm}: {word} the run that was repeated", markup=False)
        for event in report.events:
            messages().print(f"guard, step {event.step}: {event.message} ({event.action})", markup=False, soft_wrap=True)


def student_table(reports: list[StudentReport]) -> Table:
    """Students and their baselines on eval, a line each."""
    from rich.table import Table

    table = Table("on eval", "joint frame", "intent", "macro F1", "slot F1", "unparsable", "p against probe")
    for report in reports:
        for item in report.evaluations:
            own = item.student == "tuned"
            figures = item.overall
            shares = (figures.joint_frame_accuracy, figures.intent_accuracy, figures.macro_f1, figures.slot_f1)
            test = report.tests.get("probe") if own else None
            table.add_row(
                report.recipe.arm if own else f"  {item.student}",
                *(f"{100 * share:.1f} %" for share in (*shares, figures.unparsable_rate)),
                f"{test.p_value:.2g}" if test else "",
            )
    return table


def _show_plans(plans: list[PlanPreview], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"plans": [plan.model_dump(mode="json") for plan in plans]}, indent=1) + "\n")
        return
    for plan in plans:
        results().print(f"{plan.arm}: {plan.rows} rows, {plan.rows_from}; {plan.steps} steps", markup=False, soft_wrap=True)
        for line in plan.reasons:
            results().print(f"  {line}", markup=False, soft_wrap=True)
        for event in plan.warnings:
            messages().print(f"  warning: {event.message}", markup=False, soft_wrap=True)
