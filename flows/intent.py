"""Stage 1: requirement documents to executable TaskSchemas."""

from __future__ import annotations

from prefect import flow

from schemas.task import TaskCatalog
from tasks import policies
from tasks.intent import map_documents
from tasks.recording import finish, finished, recorded_stage
from tasks.wiring import place_of


@flow(name="intent", flow_run_name="intent-{domain}", **policies.STAGE)
def intent(domain: str = "examples/dataops", lap: int = 0) -> TaskCatalog:
    """Map the domain's requirement documents to TaskSchemas. lap: 0 takes the unfinished one, or opens the next."""
    place = place_of(domain, lap)
    if catalog := finished(place, "intent", TaskCatalog):
        return catalog
    with recorded_stage(place, "intent") as run:
        return finish(place, "intent", map_documents(place), run)
