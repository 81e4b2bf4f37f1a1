"""Orchestration policy, one table: retries, timeouts, caching, the GPU slot.

Caching is off: whether a stage is finished is the lap's own record (``kickwheel.workspace``), which also holds when no
Prefect server does. Retries are for transient errors only; per-call retries (429, 5xx) are made inside the stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.sync import concurrency
from prefect.tasks import Task

from kickwheel.errors import is_transient

GPU_SLOT = "kickwheel-gpu"
"""Global concurrency limit around GPU work: ``prefect gcl create kickwheel-gpu --limit 1``. Without it, no limit."""


def retry_if_transient(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    """Retry what may succeed later, never what fails the same way again (bad input, a 4xx)."""
    try:
        state.result()
    except BaseException as error:
        return is_transient(error)
    return False


_PLAIN: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
_PATIENT: dict[str, Any] = {
    **_PLAIN,
    "retries": 2,
    "retry_delay_seconds": [5, 20],
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": retry_if_transient,
}

LOCAL: dict[str, Any] = {**_PLAIN, "timeout_seconds": 600}
"""Reads and writes on this machine."""

LABELLING: dict[str, Any] = {**_PATIENT, "timeout_seconds": 6 * 3600}
"""Talks to the teacher. A retried round repeats no call: each reply is in the label log."""

TRAINING: dict[str, Any] = {**_PLAIN, "timeout_seconds": 24 * 3600}
"""Holds the GPU slot. Resumes from its checkpoint when the flow is run again."""

INFERENCE: dict[str, Any] = {**_PATIENT, "timeout_seconds": 6 * 3600}
"""Talks to the model server."""

EXECUTION: dict[str, Any] = {**_PATIENT, "timeout_seconds": 6 * 3600}
"""Runs a task of the domain's documents: databases and services. A second run leaves the same rows as one."""

STAGE: dict[str, Any] = {"persist_result": False, "validate_parameters": True}
"""Stage flows. A failed stage is run again by a person or by the schedule, and takes up where it was."""


@contextmanager
def gpu_slot() -> Iterator[None]:
    """Hold the GPU slot, where the Prefect server has such a limit (``kickwheel up`` makes it)."""
    with get_client(sync_client=True) as client:
        limits = client.read_global_concurrency_limits(limit=200)
    if any(limit.name == GPU_SLOT for limit in limits):
        with concurrency(GPU_SLOT, occupy=1):
            yield
    else:
        yield
