"""Tasks that look at the event store between laps, and tell."""

from __future__ import annotations

from pathlib import Path

from prefect import task
from prefect.events import emit_event
from prefect.logging import get_run_logger

from kickwheel.distillation.trigger_look import look_at
from kickwheel.domain import load_domain
from schemas.triggers import Trigger, TriggerVerdict
from tasks import policies

EVENTS: dict[Trigger, str] = {
    "enough": "kickwheel.feedback.enough",
    "drift": "kickwheel.drift",
    "novelty": "kickwheel.novelty",
}
"""What automations wait for (``prefect.yaml``), the most telling first."""


@task(task_run_name="look at new evidence", **policies.LOCAL)
def look(domain: str) -> TriggerVerdict:
    """What the triggers say now."""
    found = load_domain(Path(domain))
    verdict = look_at(found.resolved_settings(), found.name)
    get_run_logger().info("distillation due: %s (%s)", verdict.due, "; ".join(verdict.fired) or "no trigger fired")
    return verdict


@task(task_run_name="tell automations", **policies.LOCAL)
def announce(domain: str, verdict: TriggerVerdict) -> str:
    """Emit one event a look, so that several triggers start one distillation; returns its name.

    What was used by a distillation does not fire again; until then each look says so, so that a lost event is only late.
    """
    found = load_domain(Path(domain))
    name = next(event for kind, event in EVENTS.items() if kind in verdict.kinds)
    payload = {
        "domain": str(found.folder.resolve()),
        "fired": list(verdict.fired),
        "telling_answers": verdict.telling_answers,
        "stability_index": verdict.stability_index,
    }
    resource = {"prefect.resource.id": f"kickwheel.domain.{found.name}", "prefect.resource.name": found.name}
    if emit_event(name, resource=resource, payload=payload) is None:
        get_run_logger().warning("Prefect took no event: is a server configured? (PREFECT_API_URL)")
    return name
