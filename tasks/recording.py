"""How a lap and its stages are recorded: MLflow runs, Prefect artifacts, links between the two, seconds."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run
from pydantic import BaseModel

from kickwheel import __version__
from kickwheel.attempts import Attempt, log_attempt
from kickwheel.lineage import stage_inputs
from kickwheel.reporting.load_report import load_plots_of, load_rows
from kickwheel.tracking.burst_baseline_adapter import SERVER_TAG
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tracking.stage_values import stage_curves, stage_values
from schemas.lap import Stage
from schemas.throughput import ThroughputReport
from tasks.wiring import Place, tracker

Result = TypeVar("Result", bound=BaseModel)


@contextmanager
def recorded_lap(place: Place) -> Iterator[RunRecorder]:
    """The lap's MLflow run around a block; both UIs link to each other."""
    with tracker(place).lap(run_tags(place), lap_params(place)) as run:
        _link_to_mlflow(run)
        yield run


@contextmanager
def recorded_stage(place: Place, stage: Stage) -> Iterator[RunRecorder]:
    """A child run and an attempt's seconds around a stage's work."""
    started = time.time()
    log_attempt(place.lap, Attempt(stage=stage, at=_iso(started), seconds=None))
    try:
        with tracker(place).stage(stage, {**run_tags(place), "kickwheel.stage": stage}) as run:
            yield run
    finally:
        log_attempt(place.lap, Attempt(stage=stage, at=_iso(started), seconds=time.time() - started))


@contextmanager
def recorded_student(place: Place, name: str) -> Iterator[RunRecorder]:
    """A child run of the lap around one student of a comparison: MLflow's comparison page sets such runs side by side."""
    tags = {**run_tags(place), "kickwheel.stage": "tuning", "kickwheel.student": name}
    with tracker(place).stage(f"tune-{name}", tags) as run:
        yield run


def finished(place: Place, stage: Stage, kind: type[Result]) -> Result | None:
    """The stage's result, if this lap has it already from just these inputs."""
    result = place.lap.finished(stage, kind, stage_inputs(stage, place.domain, place.settings, place.lap))
    if result is not None:
        get_run_logger().info("%s: already finished in lap %d from the same inputs", stage, place.lap.number)
    return result


def finish(place: Place, stage: Stage, result: Result, run: RunRecorder) -> Result:
    """Log the result's figures, then write the stage's completion marker."""
    run.metrics(stage_values(result))
    run.series(stage_curves(result))
    place.lap.finish(stage, result, stage_inputs(stage, place.domain, place.settings, place.lap))
    run.artifact(place.lap.stage(stage) / "result.json")
    get_run_logger().info("%s: finished", stage)
    return result


@contextmanager
def recorded_load(place: Place, name: str, title: str) -> Iterator[RunRecorder]:
    """An MLflow run of its own around a load test that belongs to no lap."""
    tags = {name: value for name, value in run_tags(place).items() if name != "kickwheel.lap"}
    with tracker(place).alone(name, {**tags, "mlflow.note.content": title}) as run:
        _link_to_mlflow(run)
        yield run


def publish_load(place: Place, run: RunRecorder, report: ThroughputReport, folder: Path | None = None) -> None:
    """A load test where people look: its table and plots in MLflow, its table in Prefect.

    Args:
        folder: of a test outside laps, whose figures and files are logged too; in a lap its stage does that.
    """
    for arm in [*(search.arm for search in report.searches), *(point.arm for point in report.points)][:1]:
        run.tag(SERVER_TAG, f"{report.server}, {arm}")
    rows = load_rows(report)
    if rows:
        run.table(rows, "load_points")
        said = report.searches[0].why if report.searches else report.load or "load steps"
        create_table_artifact(rows, key=f"load-{_artifact_key(place.domain.name)}", description=said)
    for alarm in report.burst.alarms if report.burst else ():
        get_run_logger().warning("against the version before: %s", alarm)
    if folder is not None:
        run.metrics(stage_values(report))
        run.series(stage_curves(report))
        for name in ("plots", "report.html", "report.json"):
            if (folder / name).exists():
                run.artifact(folder / name, "plots" if name == "plots" else None)
    else:
        for name, svg in load_plots_of(report).items():
            run.text(svg, f"plots/{name}.svg")


def publish_summary(domain: str, markdown: str) -> None:
    """The lap's summary as a Prefect artifact; its fixed key keeps the history of laps."""
    create_markdown_artifact(markdown, key=f"lap-report-{_artifact_key(domain)}", description="Kickwheel lap report")


def publish_engine(domain: str, markdown: str) -> None:
    """What was measured of the domain's model server, as a Prefect artifact."""
    create_markdown_artifact(markdown, key=f"engine-{_artifact_key(domain)}", description="Kickwheel engine reports")


def run_tags(place: Place) -> dict[str, str]:
    """Tags of every run: where it came from."""
    tags = {
        "kickwheel.domain": place.domain.name,
        "kickwheel.lap": str(place.lap.number),
        "kickwheel.code_version": code_version(),
        "prefect.flow_run_id": flow_run.get_id(),
        "prefect.flow_run_name": flow_run.get_name(),
        "prefect.flow_run_url": _ui_address(),
        "prefect.deployment": deployment.get_name(),
    }
    return {name: value for name, value in tags.items() if value}


def lap_params(place: Place) -> dict[str, object]:
    """What laps are compared by in MLflow. Addresses and keys are not among it."""
    settings = place.settings
    groups = {"seeding": settings.seeding, "tuning": settings.tuning, "distillation": settings.distillation}
    flat = {f"{group}.{name}": value for group, fields in groups.items() for name, value in fields.model_dump().items()}
    return {"base_model": settings.model.base, "teacher": settings.teacher.model, "seed": settings.seed, **flat}


def code_version() -> str:
    """Package version and, in a checkout, the commit (with + where files differ from it)."""
    here = Path(__file__).resolve().parent.parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty=+", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    commit = done.stdout.strip() if done.returncode == 0 else ""
    return f"{__version__}+{commit}" if commit else __version__


def _ui_address() -> str:
    """Address of this flow run in the Prefect UI; empty where no UI is up (Prefect then says ``None/flow-runs/…``)."""
    address = flow_run.get_flow_run_ui_url() or ""
    return address if address.startswith("http") else ""


def _link_to_mlflow(run: RunRecorder) -> None:
    """A link artifact where MLflow is a server; a file store has no address that a browser could open."""
    uri = run.client.tracking_uri
    if uri.startswith("http"):
        experiment = run.client.get_run(run.run_id).info.experiment_id
        link = f"{uri.rstrip('/')}/#/experiments/{experiment}/runs/{run.run_id}"
        create_link_artifact(link, link_text="MLflow run of this lap", key="mlflow-run")


def _artifact_key(name: str) -> str:
    """Prefect takes lower-case letters, digits and dashes only."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower())


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
