"""Which deployments a domain's tasks need, and what has to change for it. Knows nothing of Prefect's API.

A task that can run has one deployment, with its schedule if it has one. What was deployed and is no longer such a task keeps
its deployment, for its history and to be run by hand, but loses its schedule. Nothing that is right already is touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kickwheel.domain_folder import Domain
from kickwheel.execution.domain_bindings import DomainBindings
from kickwheel.execution.execute import refusal
from kickwheel.execution.registry import ExecutorRegistry
from kickwheel.intent.fire_times import fire_times
from kickwheel.intent.recurrence_rule import ANCHOR
from schemas.task import Schedule, TaskCatalog

TAG = "kickwheel"
FLOW = "execute"
ENTRYPOINT = "flows/execution.py:execute"
Action = Literal["created", "changed", "unchanged", "schedule removed", "refused"]


@dataclass(frozen=True)
class Wanted:
    """A deployment as it should be. Plain data, compared with what the server has."""

    task: str
    name: str
    schedule: Schedule | None
    parameters: Mapping[str, Any]
    tags: tuple[str, ...]
    description: str
    work_pool: str
    pull_steps: Sequence[Mapping[str, Any]]
    job_variables: Mapping[str, Any]
    entrypoint: str = ENTRYPOINT

    @property
    def slug(self) -> str:
        """The schedule's: the same for the same task, so that a changed time replaces the old one."""
        return self.task.replace("_", "-")


@dataclass(frozen=True)
class Standing:
    """A deployment that the server has. ``schedules``: slug and schedule of each."""

    id: str
    name: str
    schedules: tuple[tuple[str, Schedule], ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The fields of :class:`Wanted` that are plain data, by name."""
    unreadable: int = 0
    """Schedules that are neither cron nor rrule; never ours."""
    switched_off: bool = False
    """A person has switched its schedules off in Prefect: that stays so."""

    @property
    def task(self) -> str:
        """The task that its tag names."""
        return next((tag.removeprefix("task:") for tag in self.fields.get("tags", ()) if tag.startswith("task:")), "")


@dataclass(frozen=True)
class Change:
    """What happens to a task's deployment."""

    task: str
    action: Action
    deployment: str = ""
    schedule: Schedule | None = None
    next_run: datetime | None = None
    reason: str = ""
    wanted: Wanted | None = None
    standing: Standing | None = None


@dataclass(frozen=True)
class RunPlace:
    """Where runs happen: what the worker is told beside the task."""

    work_pool: str
    root: str
    """Folder in which flows/ lies."""
    home: str


def decide(
    domain: Domain,
    catalog: TaskCatalog,
    standing: Iterable[Standing],
    place: RunPlace,
    registry: ExecutorRegistry,
    now: datetime,
) -> list[Change]:
    """A change for every task of the catalogue, in its order, then for what was deployed and is no task any more."""
    there = {item.name: item for item in standing}
    bindings, changes = DomainBindings.of(domain), []
    for task in catalog.tasks:
        wanted = _wanted(domain, task.intent, task.schedule, task.description, place)
        old = there.pop(wanted.name, None)
        if reason := refusal(bindings, task, registry):
            reason += "; its schedule is removed" if old and (old.schedules or old.unreadable) else ""
            changes.append(Change(task.intent, "refused", schedule=task.schedule, reason=reason, standing=old))
            continue
        action: Action = "created" if old is None else "unchanged" if _same(wanted, old) else "changed"
        off = bool(old and old.switched_off and task.schedule)
        first = fire_times(task.schedule, now, 1) if task.schedule and not off else []
        changes.append(
            Change(
                task.intent,
                action,
                wanted.name,
                task.schedule,
                next_run=first[0].at if first else None,
                reason="its schedule is switched off in Prefect" if off else "",
                wanted=wanted,
                standing=old,
            )
        )
    for old in there.values():
        if old.schedules or old.unreadable:
            reason = "the documents have no such task any more"
            changes.append(Change(old.task or old.name, "schedule removed", old.name, reason=reason, standing=old))
    return changes


def domain_tag(domain: str) -> str:
    """The tag by which a domain's deployments are known; others are never touched."""
    return f"domain:{domain}"


def _wanted(domain: Domain, task: str, schedule: Schedule | None, description: str, place: RunPlace) -> Wanted:
    return Wanted(
        task=task,
        name=f"{domain.name}-{task}",
        schedule=schedule,
        parameters={"domain": str(domain.folder.resolve()), "task": task, "dry_run": False},
        tags=(TAG, domain_tag(domain.name), f"task:{task}"),
        description=description,
        work_pool=place.work_pool,
        # Flow files are loaded relative to this folder, wherever the worker was started; the workspace is named beside it.
        pull_steps=({"prefect.deployments.steps.set_working_directory": {"directory": place.root}},),
        job_variables={"env": {"KICKWHEEL_HOME": place.home}},
    )


def anchored(schedule: Schedule) -> Schedule:
    """The schedule as Prefect stores it: it writes its anchor, which is ours too, before every rule that has none."""
    if schedule.rrule is None or "DTSTART" in schedule.rrule:
        return schedule
    return Schedule(rrule=f"{ANCHOR}\n{schedule.rrule}", zone=schedule.zone)


def _same(wanted: Wanted, standing: Standing) -> bool:
    schedules = ((wanted.slug, anchored(wanted.schedule)),) if wanted.schedule else ()
    return (
        standing.schedules == schedules
        and standing.unreadable == 0
        and all(standing.fields.get(name) == value for name, value in fields_of(wanted).items())
    )


def fields_of(wanted: Wanted) -> dict[str, Any]:
    """Plain fields in the form in which :class:`Standing` has them."""
    return {
        "parameters": dict(wanted.parameters),
        "tags": sorted(wanted.tags),
        "description": wanted.description,
        "work_pool": wanted.work_pool,
        "pull_steps": [dict(step) for step in wanted.pull_steps],
        "job_variables": dict(wanted.job_variables),
        "entrypoint": wanted.entrypoint,
    }
