"""Tasks of the seeding stage."""

from __future__ import annotations

from dataclasses import replace

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.inference.purse import Budget, read_spent
from kickwheel.review.queue import DomainReview
from kickwheel.review.reviewed_rows import copy_answers
from kickwheel.seeding.gate import Gated
from kickwheel.seeding.lap_inputs import lap_inputs
from kickwheel.seeding.rounds import RoundOutcome, run_round, teacher_prompt
from kickwheel.seeding.seed_set import assemble_seed_set, spend_of
from kickwheel.seeding.seed_versions import FOLDER, keep_version
from kickwheel.seeding.synthesis.synthesise import Moment, synthesise
from kickwheel.tracking.runs_adapter import RunRecorder
from schemas.seeding import SeedSet
from schemas.synthesis import SynthesisReport
from tasks import policies
from tasks.progress import progress_of
from tasks.wiring import Endpoint, Place, student_scorer, teacher_client


@task(task_run_name="round {number}", **policies.LABELLING)
def label_round(place: Place, teacher: Endpoint, number: int, run: RunRecorder) -> RoundOutcome:
    """One round; what it has asked the teacher before, it does not ask again."""
    with teacher_client(place, teacher, run) as client, student_scorer(place) as student:
        return run_round(
            replace(_gate(place).inputs, student=student),
            number,
            client,
            max_concurrency=place.settings.teacher.max_concurrency,
            progress=progress_of(f"round {number}: rows that the teacher has seen"),
        )


@task(task_run_name="synthesis, {moment}", **policies.LABELLING)
def write_rows(place: Place, teacher: Endpoint, moment: Moment, run: RunRecorder) -> SynthesisReport:
    """Rows for what has no labels ("start") or too few ("end"), as far as the settings ask for them."""
    with teacher_client(place, teacher, run) as client:
        return synthesise(_gate(place), moment, client).report


@task(task_run_name="assemble", **policies.LOCAL)
def assemble(place: Place, teacher: Endpoint, run: RunRecorder) -> SeedSet:
    """The lap's labelled rows as one file, the rows that wait for a person as another."""
    gate = _gate(place)
    seeds = assemble_seed_set(
        gate,
        teacher_model=teacher.model,
        unavailable_reason=teacher.reason or None,
        spend=spend_of(read_spent(place.teacher_ledger), Budget.of(place.settings.teacher)),
    )
    if teacher.url:
        run.prompt(f"{place.domain.name}-teacher", teacher_prompt(gate.inputs, ()).template())
    keep_version(seeds.train, place.settings.home / place.domain.name / FOLDER)
    run.dataset(seeds.train, "seed-set", "training")
    return seeds


def take_answers(place: Place) -> None:
    """Copy what reviewers have settled by now: the whole stage works from that copy, whoever answers meanwhile."""
    count = copy_answers(DomainReview(place.domain, place.settings.home), place.lap)
    if count:
        get_run_logger().info("seeding: %d rows are settled by reviewers", count)


def _gate(place: Place) -> Gated:
    return lap_inputs(place.domain, place.settings, place.lap, place.catalog, place.work("seeding"))
