"""What is wrong with a domain's bindings beside their form: names that no task has, parts that an action does not use."""

from __future__ import annotations

from collections.abc import Iterator

from kickwheel.domain_folder import Domain
from kickwheel.errors import DomainError, TaskRefused
from kickwheel.execution.execute import binding_names
from kickwheel.execution.registry import ExecutorRegistry
from kickwheel.yaml_document import line_of
from schemas.task import TaskCatalog


def binding_problems(domain: Domain, catalog: TaskCatalog, registry: ExecutorRegistry | None = None) -> Iterator[DomainError]:
    """Problems with file, line and name. Whether data is there and variables are set is seen when a task runs."""
    registry, file = registry or ExecutorRegistry(), domain.bindings_file
    bindings, used = domain.bindings(), set()
    for task in catalog.tasks:
        names = binding_names(domain, task)
        used |= set(names)
        name = next((name for name in names if name in bindings), None)
        if file is None or name is None or task.action not in registry.actions:
            continue
        try:
            problems = registry.executor(task.action).check(bindings[name])
        except TaskRefused:
            continue  # a plug-in that does not load on this machine says nothing about the domain
        for problem in problems:
            yield DomainError(f"{task.intent}: {problem}", file=file, line=line_of(file, (name,)), field=name)
    for name in bindings:
        if file is not None and name not in used:
            known = ", ".join(task.target or task.intent for task in catalog.tasks)
            yield DomainError(
                f"no task has this name as its intent, target or entity; targets: {known}",
                file=file,
                line=line_of(file, (name,)),
                field=name,
            )
