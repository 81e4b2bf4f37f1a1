"""``prefect.yaml`` onto a Prefect server: work pool, GPU slot, deployments, the automation against zombies.

``prefect deploy`` sets every schedule to what the file says, so that a nightly lap that somebody has switched on would be off
again after the next deploy. Here the file says when a schedule fires, and the server whether it does and with which parameters.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kickwheel.cli.deployer import ensure_pool
from kickwheel.cli.up import GPU_SLOT, POOL
from kickwheel.cli.zombies import ensure_zombies_end
from kickwheel.errors import InputError, ServerFailed
from kickwheel.execution.deployments import TAG

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import DeploymentSchedule

FILE = "prefect.yaml"


@dataclass(frozen=True)
class FlowSchedule:
    """A schedule as the server has it."""

    deployment: str
    """Flow and deployment, as Prefect names them."""
    slug: str
    expression: str
    zone: str
    active: bool


@dataclass(frozen=True)
class Deployed:
    """What the server has afterwards."""

    schedules: tuple[FlowSchedule, ...]
    zombie_automation: str
    """created, changed or unchanged."""


def deploy_flows() -> Deployed:
    """Apply the file in this folder; again: nothing changes.

    Raises:
        InputError: there is no such file here.
        ServerFailed: Prefect refuses it.
    """
    from prefect.client.orchestration import get_client

    if not Path(FILE).is_file():
        raise InputError(f"there is no {FILE} in {Path.cwd()}: call the command in the folder of Kickwheel's flows")
    with get_client(sync_client=True) as client:
        ensure_pool(client, POOL)
        _ensure_gpu_slot(client)
        before = {(name, item.slug): item for name, _, item in _schedules(client)}
        _apply_file(str(client.api_url))
        for name, deployment, item in _schedules(client):
            if (old := before.get((name, item.slug))) and item.slug:
                _keep_switch(client, deployment, old, item)
        zombies = ensure_zombies_end(client)
        return Deployed(tuple(_told(name, item) for name, _, item in _schedules(client)), zombies)


def _keep_switch(client: SyncPrefectClient, deployment: UUID, old: DeploymentSchedule, new: DeploymentSchedule) -> None:
    changed: dict[str, Any] = {}
    if old.active != new.active:
        changed["active"] = old.active
    if old.parameters != new.parameters:
        changed["parameters"] = old.parameters
    if changed:
        client.update_deployment_schedule(deployment, new.id, **changed)


def _schedules(client: SyncPrefectClient) -> Iterator[tuple[str, UUID, DeploymentSchedule]]:
    """Every schedule of the deployments that carry our tag and belong to no domain's documents."""
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags

    ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    flows = {flow.id: flow.name for flow in client.read_flows(limit=200)}
    for deployment in client.read_deployments(deployment_filter=ours, limit=200):
        if not any(tag.startswith("domain:") for tag in deployment.tags):
            name = f"{flows.get(deployment.flow_id, deployment.flow_id)}/{deployment.name}"
            yield from ((name, deployment.id, schedule) for schedule in deployment.schedules)


def _told(name: str, item: DeploymentSchedule) -> FlowSchedule:
    expression = getattr(item.schedule, "cron", None) or getattr(item.schedule, "rrule", None)
    interval = getattr(item.schedule, "interval", None)
    zone = getattr(item.schedule, "timezone", None) or "UTC"
    return FlowSchedule(name, item.slug or "", expression or f"every {interval}", zone, item.active)


def _ensure_gpu_slot(client: SyncPrefectClient) -> None:
    from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate

    if not any(limit.name == GPU_SLOT for limit in client.read_global_concurrency_limits(limit=200)):
        client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=GPU_SLOT, limit=1))


def _apply_file(api: str) -> None:
    """Prefect's own command: what the file means is its business."""
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    environment = {**os.environ, "PREFECT_API_URL": api}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerFailed(f"prefect deploy --all failed:\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
