"""The automation that ends zombies: flow runs whose process died without a word, and which Prefect shows as running for ever.

A run sends a heartbeat every 180 s (``PREFECT_FLOWS_HEARTBEAT_FREQUENCY``). A worker tells of a process that ends under it;
where the machine or the worker went too, nobody does. Self-hosted servers come without the automation that Prefect Cloud has.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kickwheel.execution.deployments import TAG

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.events.schemas.automations import AutomationCore

NAME = "kickwheel: runs whose heartbeats stop have crashed"
MISSED = 3
"""Heartbeats that may be missed: Prefect's own example."""

ENDS = ("Completed", "Failed", "Cancelled", "Crashed", "Suspended")
"""After these no heartbeat is due. A suspended run (one that waits for people) has no process, and is no zombie."""


def ensure_zombies_end(client: SyncPrefectClient, silence: timedelta | None = None) -> str:
    """Make the automation where it is missing and bring it up to date where it differs; a person's switching it off stays.

    Args:
        silence: time without a heartbeat after which a run has crashed, at least 10 s; else three heartbeats.

    Returns:
        "created", "changed" or "unchanged".
    """
    wanted = _automation(silence or _three_heartbeats())
    standing = client.read_automations_by_name(NAME)
    if not standing:
        client.create_automation(wanted)
        return "created"
    first, *doubles = standing
    for automation in doubles:  # two deployments at the same moment
        client.delete_automation(automation.id)
    wanted = wanted.model_copy(update={"enabled": first.enabled})
    if _plain(wanted) == _plain(first):
        return "unchanged"
    client.update_automation(first.id, wanted)
    return "changed"


def _automation(silence: timedelta) -> AutomationCore:
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
    from prefect.events.schemas.events import ResourceSpecification

    ours = {"prefect.resource.id": f"prefect.tag.{TAG}", "prefect.resource.role": "tag"}
    return AutomationCore(
        name=NAME,
        description="Ends runs of Kickwheel's deployments whose process is gone, so that the next one can start.",
        enabled=True,
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *(f"prefect.flow-run.{state}" for state in ENDS)},
            match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
            match_related=ResourceSpecification(ours),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=silence,
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message=f"no heartbeat for {silence.total_seconds():.0f} s")],
    )


def _three_heartbeats() -> timedelta:
    from prefect.settings import get_current_settings

    return timedelta(seconds=MISSED * (get_current_settings().flows.heartbeat_frequency or 180))


def _plain(automation: AutomationCore) -> dict[str, Any]:
    """What counts when two are compared: the server adds ids."""
    fields = automation.model_dump(mode="json", include={"description", "enabled", "trigger", "actions"})
    trigger = {key: value for key, value in fields["trigger"].items() if key != "id"}
    for key in ("after", "expect", "for_each"):
        trigger[key] = sorted(trigger[key])
    return {**fields, "trigger": trigger}
