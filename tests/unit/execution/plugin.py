"""An executor as another package would ship it."""

from __future__ import annotations

from kickwheel.execution.bindings import Binding
from kickwheel.execution.ports import Surroundings
from schemas.execution import ExecutionPlan, ExecutionResult
from schemas.task import TaskSchema


class LoudSync:
    """Tells what the binding's options say."""

    def check(self, binding: Binding) -> tuple[str, ...]:
        return () if "words" in binding.options else ("options.words is missing",)

    def plan(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionPlan:
        return surroundings.plan(task, steps=(binding.options["words"],))

    def run(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionResult:
        return surroundings.result(task, rows_read=0, notes=(binding.options["words"],))
