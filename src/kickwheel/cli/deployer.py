"""A domain's tasks as Prefect deployments: reads what there is and applies what :mod:`kickwheel.execution.deployments` decides.

Prefect's upsert drops a deployment's schedules and future runs and makes them anew, so it is called for what changed and
nothing else; schedules that must go are deleted one by one, since an empty list leaves them (PrefectHQ/prefect 23097).
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from kickwheel.cli.up import POOL
from kickwheel.cli.zombies import ensure_zombies_end
from kickwheel.domain_folder import Domain
from kickwheel.errors import InputError
from kickwheel.execution.deployments import FLOW, Change, RunPlace, Standing, Wanted, anchored, decide, domain_tag
from kickwheel.execution.execute import tasks_of
from kickwheel.execution.registry import ExecutorRegistry
from schemas.task import Schedule

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.responses import DeploymentResponse
    from prefect.client.schemas.schedules import CronSchedule, RRuleSchedule

_PAGE = 200


def deploy(domain: Domain, work_pool: str, *, dry_run: bool, now: datetime) -> list[Change]:
    """Bring the server's deployments of a domain in line with its documents. ``dry_run``: only say how.

    Raises:
        InputError: a document or binding does not hold, or there is no such work pool.
    """
    from prefect.client.orchestration import get_client

    from flows import execution

    place = RunPlace(
        work_pool=work_pool,
        root=str(Path(execution.__file__).resolve().parents[1]),
        home=str(domain.resolved_settings().home.resolve()),
    )
    catalog = tasks_of(domain)
    with get_client(sync_client=True) as client:
        changes = decide(domain, catalog, _standing(client, domain.name), place, ExecutorRegistry(), now)
        if not dry_run:
            ensure_pool(client, work_pool)
            ensure_zombies_end(client)
            for change in changes:
                _apply(client, change)
    return changes


def server_address() -> str:
    """Where deployments go; empty: no server is configured, so that one is started for the call and ends with it."""
    from prefect.settings import PREFECT_API_URL

    return PREFECT_API_URL.value() or ""


def _apply(client: SyncPrefectClient, change: Change) -> None:
    if change.action in ("refused", "schedule removed") and change.standing:
        deployment = UUID(change.standing.id)
        for schedule in client.read_deployment_schedules(deployment):
            client.delete_deployment_schedule(deployment, schedule.id)
    elif change.action in ("created", "changed") and change.wanted:
        _write(client, change.wanted, active=not (change.standing and change.standing.switched_off))


def _write(client: SyncPrefectClient, wanted: Wanted, *, active: bool) -> None:
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions

    from flows.execution import execute

    schedules = (
        [DeploymentScheduleCreate(schedule=_theirs(wanted.schedule), slug=wanted.slug, active=active)]
        if wanted.schedule
        else []
    )
    client.create_deployment(
        flow_id=client.create_flow(execute),
        name=wanted.name,
        entrypoint=wanted.entrypoint,
        path=".",
        parameters=dict(wanted.parameters),
        parameter_openapi_schema=execute.parameters.model_dump_for_openapi(),
        enforce_parameter_schema=True,
        tags=list(wanted.tags),
        description=wanted.description,
        schedules=schedules,
        work_pool_name=wanted.work_pool,
        pull_steps=[dict(step) for step in wanted.pull_steps],
        job_variables=dict(wanted.job_variables),
        # Two runs of one task never overlap: a late one waits.
        concurrency_limit=1,
        concurrency_options=ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE),
    )


def _standing(client: SyncPrefectClient, domain: str) -> list[Standing]:
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags, FlowFilter, FlowFilterName

    ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[domain_tag(domain)]))
    flow = FlowFilter(name=FlowFilterName(any_=[FLOW]))
    found: list[DeploymentResponse] = []
    while True:
        page = client.read_deployments(flow_filter=flow, deployment_filter=ours, limit=_PAGE, offset=len(found))
        found += page
        if len(page) < _PAGE:
            return [_read(deployment) for deployment in found]


def _read(deployment: DeploymentResponse) -> Standing:
    schedules = [(item.slug or "", _ours(item.schedule)) for item in deployment.schedules]
    return Standing(
        id=str(deployment.id),
        name=deployment.name,
        schedules=tuple((slug, schedule) for slug, schedule in schedules if schedule),
        unreadable=sum(schedule is None for _, schedule in schedules),
        switched_off=bool(deployment.schedules) and not any(item.active for item in deployment.schedules),
        fields={
            "parameters": deployment.parameters,
            "tags": sorted(deployment.tags),
            "description": deployment.description,
            "work_pool": deployment.work_pool_name,
            "pull_steps": deployment.pull_steps,
            "job_variables": deployment.job_variables,
            "entrypoint": deployment.entrypoint,
        },
    )


def _theirs(schedule: Schedule) -> CronSchedule | RRuleSchedule:
    from prefect.client.schemas.schedules import CronSchedule, RRuleSchedule

    if schedule.cron is not None:
        return CronSchedule(cron=schedule.cron, timezone=schedule.zone)
    return RRuleSchedule(rrule=anchored(schedule).rrule or "", timezone=schedule.zone)


def _ours(schedule: object) -> Schedule | None:
    """None: of a kind that we never write."""
    from prefect.client.schemas.schedules import CronSchedule, RRuleSchedule

    if isinstance(schedule, CronSchedule):
        return Schedule(cron=schedule.cron, zone=schedule.timezone or "UTC")
    if isinstance(schedule, RRuleSchedule):
        return Schedule(rrule=schedule.rrule, zone=schedule.timezone or "UTC")
    return None


def ensure_pool(client: SyncPrefectClient, name: str) -> None:
    """Our own pool is made where it is missing; others are their owner's to make."""
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.client.schemas.filters import WorkPoolFilter, WorkPoolFilterName

    if client.read_work_pools(work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[name]))):
        return
    if name != POOL:
        raise InputError(
            f"there is no work pool {name!r}: prefect work-pool create {name} --type process, or leave the option out",
            field="--work-pool",
        )
    from prefect.workers.process import ProcessWorker

    client.create_work_pool(
        WorkPoolCreate(name=name, type="process", base_job_template=ProcessWorker.get_default_base_job_template())
    )
