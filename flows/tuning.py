"""Stage 3: labelled rows to a LoRA adapter, evaluated beside its baselines; and several kinds of students beside each other."""

from __future__ import annotations

from prefect import flow

from flows.intent import intent
from schemas.student import StudentKind, StudentReport
from schemas.tuning import Method, TuningReport
from tasks import policies
from tasks.parity import parity_of
from tasks.recording import finish, finished, recorded_lap, recorded_stage, recorded_student
from tasks.students import finish_student, finished_student, order_from_run, order_of, report_student, train_student
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
            parity = parity_of(place, served, trained, adapter, assessment, run)
            report = register_adapter(place, served, trained, adapter, assessment, parity, run)
        return finish(place, "tuning", report, run)


@flow(name="tune", flow_run_name="tune-{domain}", **policies.STAGE)
def tune(
    domain: str = "examples/dataops",
    lap: int = 0,
    students: list[StudentKind] = ["causal"],  # noqa: B006
    method: Method = "lora",
    from_run: str = "",
) -> list[StudentReport]:
    """Train students beside each other on the same rows, each in an MLflow run of its own.

    Args:
        domain: The domain's folder.
        lap: Its number; 0 takes the unfinished one, or opens the next.
        students: causal, encoder, or both.
        method: lora, or full for comparison.
        from_run: Train what this MLflow run trained; the other settings are then the run's.
    """
    place = place_of(domain, lap)
    reports = []
    with recorded_lap(place):
        intent(domain, place.lap.number)
        orders = [order_from_run(place, from_run)] if from_run else [order_of(place, kind, method) for kind in students]
        for order in orders:
            if report := finished_student(place, order):
                reports.append(report)
                continue
            with recorded_student(place, order.name) as run:
                trained = train_student(place, order, run)
                report = report_student(place, order, trained, run)
                reports.append(finish_student(place, order, report, run))
    return reports
