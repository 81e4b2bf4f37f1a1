"""What is wrong with a domain's bindings beside their form: names that no task has, parts that no task's action uses."""

from __future__ import annotations

from collections.abc import Iterator

from kickwheel.domain_folder import Domain
from kickwheel.errors import DomainError, TaskRefused
from kickwheel.execution.bindings import Binding
from kickwheel.execution.domain_bindings import DomainBindings
from kickwheel.execution.registry import ExecutorRegistry
from kickwheel.yaml_document import line_of
from schemas.task import TaskCatalog, TaskSchema


def binding_problems(domain: Domain, catalog: TaskCatalog, registry: ExecutorRegistry | None = None) -> Iterator[DomainError]:
    """Problems with file, line and name. Whether data is there and variables are set is seen when a task runs."""
    bindings, file = DomainBindings.of(domain), domain.bindings_file
    registry = registry or ExecutorRegistry()
    for name, binding in bindings.by_name.items():
        tasks = [task for task in catalog.tasks if name in bindings.names(task)]
        if tasks:
            problem = _fits_none(binding, tasks, registry)
        else:
            known = ", ".join(task.target or task.intent for task in catalog.tasks)
            problem = f"no task has this name as its intent, target or entity; targets: {known}"
        if problem and file:
            yield DomainError(problem, file=file, line=line_of(file, (name,)), field=name)


def _fits_none(binding: Binding, tasks: list[TaskSchema], registry: ExecutorRegistry) -> str:
    """What the binding lacks for each task; empty: it fits one, or that can't be told on this machine."""
    told = []
    for task in tasks:
        try:
            problems = registry.executor(task.action).check(binding)
        except TaskRefused:
            return ""  # no executor here, or a plug-in that does not load: that says nothing about the domain
        if not problems:
            return ""
        told.append(f"{task.intent}: {'; '.join(problems)}")
    return f"fits no task that it is for: {' / '.join(told)}"
