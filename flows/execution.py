"""Running one task of a domain's documents: what its schedule calls, and what a person may call."""

from __future__ import annotations

from prefect import flow
from prefect.client.schemas.objects import State

from schemas.execution import ExecutionPlan, ExecutionResult
from tasks import policies
from tasks.execution import ended, execute_task, plan, task_of


@flow(name="execute", flow_run_name="{task}", **policies.STAGE)
def execute(domain: str, task: str, dry_run: bool = False) -> ExecutionPlan | State[ExecutionResult]:
    """Run a task: sync, fetch, validate, enrich, or what a plug-in does.

    Args:
        domain: The domain's folder.
        task: The task's intent or id.
        dry_run: Only say what would happen.
    """
    found, schema = task_of(domain, task)
    return plan(found, schema) if dry_run else ended(execute_task(found, schema))
