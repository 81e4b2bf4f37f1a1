"""What executes a task, and what it is given to do so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kickwheel.execution.bindings import Binding
from kickwheel.execution.placeholders import Placeholders
from kickwheel.execution.places import Place
from schemas.execution import ExecutionPlan, ExecutionResult
from schemas.task import TaskSchema


@dataclass(frozen=True)
class Surroundings:
    """Where one execution happens."""

    domain: str
    folder: Path
    """The domain's; relative paths of bindings start here."""
    work: Path
    """For what only this execution needs; other executions of the task may be using it too. Not made yet."""
    placeholders: Placeholders
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    started: datetime

    def path(self, file: str) -> Path:
        """Path of a binding's file.

        Raises:
            TaskRefused: it names a variable that is not set.
        """
        return self.folder / self.placeholders.fill(file)

    def same_place(self, one: Place, other: Place) -> bool:
        """Whether both are the same file, or the same table."""
        if one.file is not None and other.file is not None:
            return self.path(one.file).resolve() == self.path(other.file).resolve()
        fill = self.placeholders.fill
        return bool(one.url and other.url) and (fill(one.url or ""), one.table) == (fill(other.url or ""), other.table)

    def plan(self, task: TaskSchema, **found: Any) -> ExecutionPlan:
        """A plan of this task; ``found`` are the fields that the executor knows."""
        return ExecutionPlan(**self._of(task), **found)

    def result(self, task: TaskSchema, **found: Any) -> ExecutionResult:
        """A result of this task, timed up to now; ``found`` are the fields that the executor knows."""
        return ExecutionResult(
            **self._of(task),
            started_at=self.started.astimezone(UTC).isoformat(timespec="seconds"),
            seconds=max(0.0, (self.now() - self.started).total_seconds()),
            **found,
        )

    def _of(self, task: TaskSchema) -> dict[str, Any]:
        return {
            "domain": self.domain,
            "task": task.intent,
            "task_id": task.id,
            "task_version": task.version,
            "action": task.action,
        }


@runtime_checkable
class Executor(Protocol):
    """Does what an action says.

    Errors are those of :mod:`kickwheel.errors`: transient ones are tried again by the flow. No message, plan or result holds
    a filled-in placeholder.
    """

    def check(self, binding: Binding) -> tuple[str, ...]:
        """What the binding lacks for this action, or says in vain. Nothing is opened."""
        ...

    def plan(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionPlan:
        """What :meth:`run` would do. Reads at most; writes nothing.

        Raises:
            KickwheelError: it could not be done, and why.
        """
        ...

    def run(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionResult:
        """Do it: as a whole or not at all, and a second time to the same end.

        Raises:
            KickwheelError: it was not done; what was there before is unchanged.
        """
        ...
