"""A look at what users have said: an event for Prefect's automations where a distillation is worth running."""

from __future__ import annotations

from prefect import flow

from schemas.triggers import TriggerVerdict
from tasks import policies
from tasks.feedback_watch import announce, look


@flow(name="feedback_watch", flow_run_name="watch-{domain}", **policies.STAGE)
def feedback_watch(domain: str = "examples/dataops") -> TriggerVerdict:
    """Look, and tell in one event what fired; nothing is changed. domain: its folder."""
    verdict = look(domain)
    if verdict.due:
        announce(domain, verdict)
    return verdict
