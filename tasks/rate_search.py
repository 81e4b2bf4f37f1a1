"""The tasks behind `kickwheel throughput`: one exact search, or one load test, on a server, outside any lap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.domain import Domain, load_domain
from kickwheel.errors import InputError
from kickwheel.reporting.load_report import write_load_report
from kickwheel.settings import get_settings
from kickwheel.throughput.asked import Asked, asked_settings
from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.load_shape import describe_load
from kickwheel.throughput.measure import measure, measure_load
from kickwheel.throughput.point_log import PointLog
from kickwheel.throughput.runs import open_run
from kickwheel.workspace import Lap, laps_of
from schemas.lap import Stage
from schemas.throughput import Burst, RateRequest, ThroughputReport
from schemas.tuning import AdapterArtifact, TuningReport
from tasks import policies
from tasks.progress import progress_of
from tasks.recording import publish_load, recorded_load
from tasks.throughput import POINTS, bench_of, first_burst, schema_of, served, server_words, warmed_up
from tasks.wiring import Place


def place_for(domain: str, request: RateRequest) -> Place:
    """The domain with the request's settings, on the newest lap that has what the load test needs.

    Raises:
        StageInputMissing: no lap has a catalogue, or none an adapter where one is to be loaded.
    """
    found = load_domain(Path(domain))
    settings = asked_settings(get_settings(found.settings), request)
    return Place(found, settings, newest_lap(found, settings.home, needs_adapter=not (request.base or request.model)))


def newest_lap(domain: Domain, home: Path, *, needs_adapter: bool) -> Lap:
    """The newest lap with a catalogue and, if needed, a tuned adapter.

    Raises:
        StageInputMissing: there is none.
    """
    stage: Stage = "tuning" if needs_adapter else "intent"
    laps = laps_of(home, domain.name)
    for lap in reversed(laps):
        if lap.has("intent") and lap.has(stage):
            return lap
    return laps[-1] if laps else Lap(home / domain.name / "laps" / "0001", 1)


@task(task_run_name="largest rate", **policies.INFERENCE)
def search_rate(place: Place, request: RateRequest) -> ThroughputReport:
    """Search, keep every step as it ends, and write the report; a server that dies is a result."""

    def found(bench: Bench, arm: Arm, burst: Burst | None, words: dict[str, Any]) -> ThroughputReport:
        return measure(bench, arm, burst=burst, progress=progress_of("load steps, at most"), **words)

    report = _on_server(place, request, "largest rate", found)
    get_run_logger().info("largest rate: %s", report.searches[0].why)
    return report


@task(task_run_name="load test", **policies.INFERENCE)
def put_one_load(place: Place, request: RateRequest) -> ThroughputReport:
    """One load test of the request's shape, and its report; a server that dies is a result."""
    shape = request.load
    if shape is None:
        raise InputError("a load test needs a load", field="load")

    def found(bench: Bench, arm: Arm, burst: Burst | None, words: dict[str, Any]) -> ThroughputReport:
        get_run_logger().info("load: %s", describe_load(shape))
        return measure_load(bench, arm, shape, burst=burst, words=words)

    return _on_server(place, request, "load test", found)


def _on_server(
    place: Place,
    request: RateRequest,
    kind: str,
    found: Callable[[Bench, Arm, Burst | None, dict[str, Any]], ThroughputReport],
) -> ThroughputReport:
    """What is measured on a server that is there for it, written and recorded."""
    settings = place.settings.throughput
    adapter = _adapter(place, request)
    asked = Asked.of(place.domain, place.settings, request, adapter)
    folder = open_run(place.settings.home, place.domain.name, asked.fingerprint)
    title = f"{place.domain.name}: {kind} of {asked.name}"
    with (
        recorded_load(place, kind.replace(" ", "-"), title) as run,
        served(place, settings, log=folder / "vllm.log") as (server, cores),
    ):
        if adapter is not None:
            server.load_adapter(adapter.name, Path(adapter.folder.path).resolve())
        model = request.model or (adapter.name if adapter else server.base_name)
        arm = Arm("base" if model == server.base_name else "adapter", (model,), schema=schema_of(place, settings))
        bench = bench_of(place, server, settings, cores, PointLog(folder / POINTS))
        burst = first_burst(place, bench, arm, server, settings)
        words = {
            "server": server_words(place, server),
            "engine_settings": {**server.engine_settings, "model": model},
            "startup_s": server.startup_s,
            "warmup_s": warmed_up(place, server, model),
            "cores": cores.said,
        }
        report = write_load_report(found(bench, arm, burst, words), folder, title=title)
        publish_load(place, run, report, folder)
    return report


def _adapter(place: Place, request: RateRequest) -> AdapterArtifact | None:
    """The newest lap's adapter; None where the base or a served name is loaded."""
    if request.base or request.model:
        return None
    return place.lap.load("tuning", TuningReport).adapter
