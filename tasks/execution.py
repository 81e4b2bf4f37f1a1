"""Tasks that run a domain's tasks."""

from __future__ import annotations

from pathlib import Path

from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed

from kickwheel.domain import Domain, load_domain
from kickwheel.execution.execute import find_task, plan_task, run_task, tasks_of
from kickwheel.execution.telling import artifact_key, rows_of, summary
from schemas.execution import ExecutionPlan, ExecutionResult
from schemas.task import TaskSchema
from tasks import policies


def task_of(domain: str, name: str) -> tuple[Domain, TaskSchema]:
    """The domain, and its task of that intent or id."""
    found = load_domain(Path(domain))
    return found, find_task(tasks_of(found), name)


@task(task_run_name="plan {schema.intent}", **policies.EXECUTION)
def plan(domain: Domain, schema: TaskSchema) -> ExecutionPlan:
    """What running the task would do."""
    made = plan_task(domain, schema)
    publish(made)
    return made


@task(task_run_name="{schema.intent}", **policies.EXECUTION)
def execute_task(domain: Domain, schema: TaskSchema) -> ExecutionResult:
    """Run the task; its result is an artifact, so that nobody has to read a log."""
    result = run_task(domain, schema)
    publish(result)
    return result


def ended(result: ExecutionResult) -> State[ExecutionResult]:
    """The flow run's last state: broken rules are a result, so it is completed, by a name that shows in every list of runs."""
    return Completed(name="Completed" if result.passed else "Rules broken", message=summary(result), data=result)


def publish(told: ExecutionPlan | ExecutionResult) -> None:
    """A table artifact; its fixed key keeps the history of the task."""
    create_table_artifact(rows_of(told), key=artifact_key(told), description=summary(told))
    get_run_logger().info("%s", summary(told))
