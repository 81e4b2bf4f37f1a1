"""From a task of the domain's documents to a plan or a result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from kickwheel.domain_folder import Domain
from kickwheel.errors import TaskRefused
from kickwheel.execution.bindings import Binding
from kickwheel.execution.domain_bindings import DomainBindings
from kickwheel.execution.placeholders import placeholders_of
from kickwheel.execution.ports import Executor, Surroundings
from kickwheel.execution.registry import ExecutorRegistry
from kickwheel.intent.mapping import map_requirements
from kickwheel.intent.recogniser_adapter import open_recogniser
from kickwheel.registry import published_versions
from schemas.execution import ExecutionPlan, ExecutionResult
from schemas.task import TaskCatalog, TaskSchema


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Clock:
    """Time, as an argument."""

    now: Callable[[], datetime] = _utc_now
    sleep: Callable[[float], None] = time.sleep


def tasks_of(domain: Domain) -> TaskCatalog:
    """The domain's tasks as its documents have them now: the one place that says where tasks come from.

    A model is asked only where it has a say in what is a task: what it suggests for statements that the rules refuse has none.

    Raises:
        InputError: a document or the registry does not hold.
        ServiceError: the model does not answer.
    """
    settings, glossary = domain.resolved_settings(), domain.glossary()
    rules_decide = settings.intent.recogniser == "hybrid" and not settings.intent.second_opinion
    with open_recogniser(
        settings, glossary, domain=domain.name, knowledge=domain.knowledge, choice="rules" if rules_decide else None
    ) as recogniser:
        return map_requirements(
            domain.requirement_files,
            domain=domain.name,
            zone=domain.zone,
            glossary=glossary,
            recogniser=recogniser,
            min_interval_minutes=settings.intent.min_interval_minutes,
            versions=published_versions(domain.folder),
        )


def find_task(catalog: TaskCatalog, name: str) -> TaskSchema:
    """A task by its intent or its id.

    Raises:
        TaskRefused: there is none; names those that there are.
    """
    for task in catalog.tasks:
        if name in (task.intent, str(task.id)):
            return task
    known = ", ".join(catalog.intents) or "none"
    raise TaskRefused(f"the documents of {catalog.domain} have no task {name!r}; there are: {known}")


def prepared(bindings: DomainBindings, task: TaskSchema, registry: ExecutorRegistry) -> tuple[Executor, Binding]:
    """What runs a task, and on what. Nothing is opened.

    Raises:
        TaskRefused: it can't run as it stands: flagged, without target, executor or fitting binding.
    """
    if task.flag:
        raise TaskRefused(f"{task.intent} is flagged, so a person must look first: {task.flag}")
    if task.target is None:
        raise TaskRefused(f"{task.intent} has no target: the glossary does not know {task.entity!r}; say in it what that means")
    executor = registry.executor(task.action)
    return executor, bindings.fitting(task, executor)


def refusal(bindings: DomainBindings, task: TaskSchema, registry: ExecutorRegistry) -> str:
    """Why :func:`prepared` refuses a task; empty: it does not."""
    try:
        prepared(bindings, task, registry)
    except TaskRefused as error:
        return str(error)
    return ""


def plan_task(
    domain: Domain, task: TaskSchema, *, registry: ExecutorRegistry | None = None, environment: Mapping[str, str] | None = None
) -> ExecutionPlan:
    """What running a task would do. Writes nothing.

    Raises:
        TaskRefused: it can't run as it stands, and why.
        KickwheelError: what it reads does not hold or can't be reached.
    """
    executor, binding = prepared(DomainBindings.of(domain), task, registry or ExecutorRegistry())
    return executor.plan(task, binding, _surroundings(domain, task, binding, environment, Clock()))


def run_task(
    domain: Domain,
    task: TaskSchema,
    *,
    registry: ExecutorRegistry | None = None,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> ExecutionResult:
    """Run a task: as a whole or not at all. ``environment``: where ``${NAME}`` comes from; default: the process's.

    Raises:
        As :func:`plan_task`.
    """
    executor, binding = prepared(DomainBindings.of(domain), task, registry or ExecutorRegistry())
    return executor.run(task, binding, _surroundings(domain, task, binding, environment, clock or Clock()))


def _surroundings(
    domain: Domain, task: TaskSchema, binding: Binding, environment: Mapping[str, str] | None, clock: Clock
) -> Surroundings:
    home = (domain.resolved_settings().home / domain.name).resolve()
    folder = domain.folder.resolve()
    folders = {"domain": str(folder), "home": str(home / "data")}
    return Surroundings(
        domain=domain.name,
        folder=folder,
        work=home / "executions" / task.intent,
        placeholders=placeholders_of(binding.model_dump_json(), os.environ if environment is None else environment, folders),
        now=clock.now,
        sleep=clock.sleep,
        started=clock.now(),
    )
