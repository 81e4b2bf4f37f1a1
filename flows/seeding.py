"""Stage 2: a small labelled seed, grown by active learning, a teacher, checks and review."""

from __future__ import annotations

from prefect import flow

from schemas.seeding import SeedSet
from tasks import policies
from tasks.recording import finish, finished, recorded_stage
from tasks.seeding import assemble, label_round, take_answers, write_rows
from tasks.wiring import place_of, teacher_endpoint


@flow(name="seeding", flow_run_name="seeding-{domain}", **policies.STAGE)
def seeding(domain: str = "examples/dataops", lap: int = 0) -> SeedSet:
    """Grow the lap's labelled rows. lap: 0 takes the unfinished one, or opens the next."""
    place = place_of(domain, lap)
    take_answers(place)
    if seeds := finished(place, "seeding", SeedSet):
        return seeds
    with recorded_stage(place, "seeding") as run:
        with teacher_endpoint(place) as teacher:
            write_rows(place, teacher, "start", run)
            for number in range(1, place.settings.seeding.rounds + 1):
                label_round(place, teacher, number, run)
            write_rows(place, teacher, "end", run)
        return finish(place, "seeding", assemble(place, teacher, run), run)
