"""Tasks of the intent stage."""

from __future__ import annotations

from datetime import UTC, datetime

from prefect import task

from kickwheel.intent import map_requirements
from schemas.task import TaskCatalog
from tasks import policies
from tasks.wiring import Place


@task(task_run_name="map documents", **policies.LOCAL)
def map_documents(place: Place) -> TaskCatalog:
    """Requirement documents to a catalogue."""
    domain = place.domain
    return map_requirements(
        domain.requirement_files, domain=domain.name, zone=domain.zone, glossary=domain.glossary(), now=datetime.now(UTC)
    )
