"""Stage 5: feedback to a distilled challenger, gated against the champion."""

from __future__ import annotations

from contextlib import ExitStack

from prefect import flow

from schemas.feedback import DistillationReport
from tasks import policies
from tasks.distillation import distil_challenger, gate_challenger, replay_feedback, report_of, take_live_feedback
from tasks.recording import finish, finished, recorded_stage
from tasks.wiring import place_of, students


@flow(name="distillation", flow_run_name="distillation-{domain}", **policies.STAGE)
def distillation(domain: str = "examples/dataops", lap: int = 0) -> DistillationReport:
    """Turn feedback into a challenger and let the gate decide. lap: 0 takes the unfinished one, or opens the next."""
    place = place_of(domain, lap)
    take_live_feedback(place)
    if report := finished(place, "distillation", DistillationReport):
        return report
    with recorded_stage(place, "distillation") as run, ExitStack() as serving:
        served = serving.enter_context(students(place, "distillation"))
        replayed = replay_feedback(place, served, run)
        if place.on_gpu:
            serving.close()  # training needs the memory that the server holds
        distilled = distil_challenger(place, replayed, run)
        if distilled is None:
            return finish(place, "distillation", report_of(replayed), run)
        if place.on_gpu:
            served = serving.enter_context(students(place, "distillation"))
        report = gate_challenger(place, served, replayed, distilled, run)
        return finish(place, "distillation", report, run)
