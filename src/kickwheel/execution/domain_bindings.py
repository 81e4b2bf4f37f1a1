"""A domain's bindings, looked up by task: under its intent, else its target, else its entity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kickwheel.domain_folder import Domain
from kickwheel.errors import TaskRefused
from kickwheel.execution.bindings import Binding
from kickwheel.execution.ports import Executor
from kickwheel.intent.glossary import Glossary
from schemas.task import TaskSchema


@dataclass(frozen=True)
class DomainBindings:
    """Read once for however many tasks."""

    by_name: Mapping[str, Binding]
    glossary: Glossary
    file: str

    @classmethod
    def of(cls, domain: Domain) -> DomainBindings:
        """
        Raises:
            YamlProblems: bindings or glossary do not hold.
        """
        file = domain.bindings_file.name if domain.bindings_file else "bindings.yaml, which the domain does not have yet"
        return cls(domain.bindings(), domain.glossary(), file)

    def names(self, task: TaskSchema) -> tuple[str, ...]:
        """Names under which the task's binding may stand, the most special first."""
        found = (task.intent, task.target, self.glossary.entity(task.entity))
        return tuple(dict.fromkeys(name for name in found if name))

    def fitting(self, task: TaskSchema, executor: Executor) -> Binding:
        """The first that fits the task's action: tasks with different actions may share an entity.

        Raises:
            TaskRefused: there is none, or what the most special one lacks.
        """
        names = self.names(task)
        found = [self.by_name[name] for name in names if name in self.by_name]
        if not found:
            raise TaskRefused(
                f"{task.intent} has no binding: say under {' or '.join(names)} of {self.file} where its data lies"
            )
        problems = [executor.check(binding) for binding in found]
        for binding, lacks in zip(found, problems, strict=True):
            if not lacks:
                return binding
        raise TaskRefused(f"the binding of {task.intent} does not fit: {'; '.join(problems[0])}")
