"""The task that ends a lap: its report, in every place where people look."""

from __future__ import annotations

from pathlib import Path

from prefect import task

from kickwheel.attempts import stage_times, started_at
from kickwheel.distillation.dual_track import dual_track
from kickwheel.distillation.version_tracks import live_figures, version_tracks
from kickwheel.feedback.opening import has_store, opened_store
from kickwheel.reporting.build import flat_metrics, summary_markdown, write_report
from kickwheel.reporting.engine_tables import engine_markdown
from kickwheel.throughput.engine_reports import kept_reports
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.workspace import is_complete, is_whole, laps_of
from schemas.dual_track import DualTrack
from schemas.feedback import DistillationReport
from schemas.lap import LapReport
from schemas.seeding import SeedSet
from schemas.task import TaskCatalog
from schemas.throughput import ThroughputReport
from schemas.tuning import TuningReport
from tasks import policies
from tasks.recording import code_version, publish_engine, publish_summary
from tasks.wiring import Place


@task(task_run_name="report", **policies.LOCAL)
def report_lap(place: Place, run: RunRecorder) -> LapReport:
    """Gather what the lap measured; a whole lap's report.json is its completion marker."""
    lap = place.lap
    report = LapReport(
        domain=place.domain.name,
        lap=lap.number,
        code_version=code_version(),
        mlflow_run_id=run.run_id,
        started_at=started_at(lap),
        stages=stage_times(lap),
        intent=lap.load("intent", TaskCatalog) if lap.has("intent") else None,
        seeding=lap.load("seeding", SeedSet) if lap.has("seeding") else None,
        tuning=lap.load("tuning", TuningReport) if lap.has("tuning") else None,
        throughput=lap.load("throughput", ThroughputReport) if lap.has("throughput") else None,
        distillation=lap.load("distillation", DistillationReport) if lap.has("distillation") else None,
        engine=kept_reports(place.settings.home, place.domain.name),
    )
    report = report.model_copy(update={"dual_track": _dual_track(place, report)})
    report = write_report(report, lap.folder if is_whole(lap) else lap.folder / "partial-report")
    run.metrics(flat_metrics(report))
    if report.dual_track is not None:
        run.tag("kickwheel.dual_track", report.dual_track.note)
    run.tag("mlflow.note.content", summary_markdown(report))
    run.artifact(Path(report.html or "").parent, "report")
    publish_summary(place.domain.name, summary_markdown(report))
    if report.engine is not None:
        publish_engine(place.domain.name, engine_markdown(report.engine))
    return report


def _dual_track(place: Place, report: LapReport) -> DualTrack | None:
    """The table over this lap and the complete ones before it."""
    before = [
        LapReport.model_validate_json((lap.folder / "report.json").read_text(encoding="utf-8"))
        for lap in laps_of(place.settings.home, place.domain.name)
        if lap.number < report.lap and is_complete(lap)
    ]
    live = {}
    if has_store(place.settings, place.domain.name):
        with opened_store(place.settings, place.domain.name) as store:
            live = live_figures(store.exchanges())
    rows = version_tracks([*before, report], live)
    return dual_track(rows) if rows else None
