"""The task behind the retention flow."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.domain import load_domain
from kickwheel.feedback.retention import apply_retention
from schemas.events import Erased
from tasks import policies


@task(task_run_name="remove what is old", **policies.LOCAL)
def prune(domain: str) -> Erased:
    """Apply the domain's retention now; twice is once."""
    found = load_domain(Path(domain))
    settings, log = found.resolved_settings(), get_run_logger()
    days = settings.feedback.retention_days
    if not days:
        log.warning("feedback.retention_days is 0: answers and events of %s are kept for ever", found.name)
    gone = apply_retention(settings, found.name, now=datetime.now(UTC))
    log.info("older than %g days: %d answers and %d events removed", days, gone.inferences, gone.events)
    return gone
