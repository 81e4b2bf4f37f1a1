"""Tasks of the intent stage."""

from __future__ import annotations

from prefect import task

from kickwheel.intent import map_requirements
from kickwheel.intent.recogniser_adapter import open_recogniser
from kickwheel.registry import published_versions
from schemas.task import TaskCatalog
from tasks import policies
from tasks.progress import progress_of
from tasks.wiring import Place


@task(task_run_name="map documents", **policies.LABELLING)
def map_documents(place: Place) -> TaskCatalog:
    """Requirement documents to a catalogue; what a model was asked about a statement before, it is not asked again."""
    domain, settings = place.domain, place.settings
    with open_recogniser(
        settings,
        domain.glossary(),
        domain=domain.name,
        knowledge=domain.knowledge,
        progress=progress_of("statements that the model has read") if settings.teacher.base_url else None,
    ) as recogniser:
        return map_requirements(
            domain.requirement_files,
            domain=domain.name,
            zone=domain.zone,
            glossary=domain.glossary(),
            recogniser=recogniser,
            min_interval_minutes=settings.intent.min_interval_minutes,
            versions=published_versions(domain.folder),
        )
