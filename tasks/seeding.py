"""Tasks of the seeding stage."""

from __future__ import annotations

from pathlib import Path

from prefect import task

from kickwheel.embedding.open_adapter import open_embedder
from kickwheel.lineage import starting_rows
from kickwheel.seeding.carried_rows import carried_rows
from kickwheel.seeding.rounds import RoundOutcome, SeedingInputs, run_round
from kickwheel.seeding.seed_set import assemble_seed_set
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.workspace import read_jsonl
from schemas.seeding import SeedSet
from schemas.utterance import Utterance
from tasks import policies
from tasks.progress import progress_of
from tasks.wiring import Endpoint, Place, teacher_client


@task(task_run_name="round {number}", **policies.LABELLING)
def label_round(place: Place, teacher: Endpoint, number: int) -> RoundOutcome:
    """One round; what it has asked the teacher before, it does not ask again."""
    with teacher_client(place, teacher) as client:
        return run_round(
            _inputs(place),
            number,
            client,
            max_concurrency=place.settings.teacher.max_concurrency,
            progress=progress_of(f"round {number}: rows that the teacher has seen"),
        )


@task(task_run_name="assemble", **policies.LOCAL)
def assemble(place: Place, teacher: Endpoint, run: RunRecorder) -> SeedSet:
    """The lap's labelled rows as one file, the rows that wait for a person as another."""
    seeds = assemble_seed_set(_inputs(place), teacher_model=teacher.model, unavailable_reason=teacher.reason or None)
    run.dataset(seeds.train, "seed-set", "training")
    return seeds


def _inputs(place: Place) -> SeedingInputs:
    seeding = place.settings.seeding
    domain, before = place.domain, starting_rows(place.settings, place.domain, place.lap)
    seeds, answers = domain.rows("seeds"), {row.id: row for row in domain.rows("review")}
    if before:
        current = answers | {row.id: row for row in seeds}
        seeds = carried_rows(read_jsonl(Path(before.path), Utterance), current, place.catalog)
    return SeedingInputs(
        catalog=place.catalog,
        seeds=seeds,
        pool=domain.rows("pool"),
        valid=domain.rows("valid"),
        answers=answers,
        folder=place.work("seeding"),
        label_log=place.label_log,
        settings=seeding,
        seed=place.settings.seed,
        embedder=open_embedder(seeding.embedder, place.settings.home) if seeding.strategy == "diversity" else None,
    )
