"""Stage 3: labelled rows to a LoRA adapter, evaluated beside its baselines."""

from __future__ import annotations

from prefect import flow

from schemas.tuning import TuningReport
from tasks import policies
from tasks.recording import finish, finished, recorded_stage
from tasks.tuning import evaluate_students, register_adapter, train_adapter, tuned_artifact
from tasks.wiring import place_of, students


@flow(name="tuning", flow_run_name="tuning-{domain}", **policies.STAGE)
def tuning(domain: str = "examples/dataops", lap: int = 0) -> TuningReport:
    """Train the lap's adapter and say what it gained. lap: 0 takes the unfinished one, or opens the next."""
    place = place_of(domain, lap)
    if report := finished(place, "tuning", TuningReport):
        return report
    with recorded_stage(place, "tuning") as run:
        trained = train_adapter(place, run)
        adapter = tuned_artifact(place, trained)
        with students(place, "tuning") as served:
            assessment = evaluate_students(place, served, adapter, run)
            report = register_adapter(place, served, trained, adapter, assessment, run)
        return finish(place, "tuning", report, run)
