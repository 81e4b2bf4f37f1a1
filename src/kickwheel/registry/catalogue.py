"""The tasks that a domain's documents name now."""

from __future__ import annotations

from datetime import UTC, datetime

from kickwheel.domain_folder import Domain
from kickwheel.intent import map_requirements
from kickwheel.registry.published import published_versions
from schemas.task import TaskCatalog

READ_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""Time at which documents are read; the mapping does not depend on it."""


def catalogue_of(domain: Domain) -> TaskCatalog:
    """Read by the rules: what is published must not depend on a model's mood.

    Raises:
        InputError: a document, the glossary or the registry does not hold.
    """
    return map_requirements(
        domain.requirement_files,
        domain=domain.name,
        zone=domain.zone,
        glossary=domain.glossary(),
        now=READ_AT,
        min_interval_minutes=domain.resolved_settings().intent.min_interval_minutes,
        versions=published_versions(domain.folder),
    )
