"""The one file of the domain package that starts flows: in this process, or as a Prefect deployment."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, cast
from uuid import UUID

from kickwheel.errors import InputError
from schemas.execution import ExecutionResult
from schemas.lap import LapReport, Stage
from schemas.student import StudentKind, StudentReport
from schemas.throughput import RateRequest, ThroughputReport
from schemas.triggers import DistillOutcome
from schemas.tuning import Method


def run_lap(domain: str, stages: tuple[Stage, ...], lap: int) -> LapReport:
    """Run the flow here. SIGTERM ends it like Ctrl-C, so that checkpoints are kept and MLflow says KILLED."""
    from flows.iteration import iteration

    signal.signal(signal.SIGTERM, _terminate)
    return iteration(domain=domain, lap=lap, stages=list(stages))


def tune_students(domain: str, kinds: tuple[StudentKind, ...], full: bool, from_run: str, lap: int) -> list[StudentReport]:
    """Run the tune flow here; SIGTERM as in :func:`run_lap`."""
    from flows.tuning import tune

    signal.signal(signal.SIGTERM, _terminate)
    method: Method = "full" if full else "lora"
    return tune(domain=domain, lap=lap, students=list(kinds), method=method, from_run=from_run)


def run_feedback_lap(domain: str, *, by_hand: bool) -> DistillOutcome:
    """Run the flow that distils new evidence here."""
    from flows.feedback_lap import feedback_lap

    signal.signal(signal.SIGTERM, _terminate)
    return feedback_lap(domain=domain, by_hand=by_hand)


def run_task(domain: str, task: str) -> ExecutionResult:
    """Run a task of the domain's documents here, as a flow run."""
    from flows.execution import execute

    return cast(ExecutionResult, execute(domain=domain, task=task))


def find_largest_rate(domain: str, request: RateRequest) -> ThroughputReport:
    """Search the largest rate here, as a flow run."""
    from flows.throughput import largest_rate

    signal.signal(signal.SIGTERM, _terminate)
    return largest_rate(domain=domain, request=request)


def put_load(domain: str, request: RateRequest) -> ThroughputReport:
    """Put one load on a server here, as a flow run."""
    from flows.throughput import one_load

    signal.signal(signal.SIGTERM, _terminate)
    return one_load(domain=domain, request=request)


def wait_for_review(domain: str, lap: int) -> FollowedRun:
    """Run the review flow here; it is paused until somebody resumes it."""
    from flows.review import review

    state = review(domain=domain, lap=lap, return_state=True)
    details = state.state_details
    return FollowedRun(str(details.flow_run_id), "review", state.name or state.type.value, state.message or "")


def resume_review(flow_run: str, reviewer: str, *, take_open: bool) -> str:
    """Resume the flow run of that id or name; says what became of it. A run that does not wait is left alone.

    Raises:
        InputError: there is no such run, its time is over, or the server does not take the input.
    """
    from prefect.client.orchestration import get_client
    from prefect.exceptions import FlowPauseTimeout, NotPausedError
    from prefect.flow_runs import resume_flow_run

    with get_client(sync_client=True) as client:
        run = _run_of(client, flow_run)
    told = f"flow run {run.name} ({run.id})"
    try:
        resume_flow_run(run.id, run_input={"reviewer": reviewer, "take_open": take_open})
    except NotPausedError:
        state = run.state.name if run.state else "not started"
        return f"{told} does not wait for anybody (it is {state}): nothing was done"
    except FlowPauseTimeout as error:
        raise InputError(f"{told} waited too long and ended; all answers are kept: start the flow again") from error
    except RuntimeError as error:
        raise InputError(f"{told}: {error}", field="--reviewer") from error
    return f"{told} goes on"


def _run_of(client: SyncPrefectClient, name: str) -> FlowRun:
    """The flow run of that id, else the newest of that name, waiting ones first."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, FlowRunFilterName
    from prefect.client.schemas.sorting import FlowRunSort

    try:
        wanted = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(name)]))
    except ValueError:
        wanted = FlowRunFilter(name=FlowRunFilterName(any_=[name]))
    runs = client.read_flow_runs(flow_run_filter=wanted, sort=FlowRunSort.EXPECTED_START_TIME_DESC)
    if not runs:
        raise InputError(f"there is no flow run {name!r}: the Prefect UI and `prefect flow-run ls` list them", field="FLOW_RUN")
    return next((run for run in runs if run.state and run.state.is_paused()), runs[0])


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


LOGS_LATE_S = 5
"""Prefect ships logs in batches: the last ones come some seconds after the final state."""

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun


@dataclass(frozen=True)
class FollowedRun:
    """A deployment's flow run, followed to its end."""

    id: str
    name: str
    state: str
    message: str


def run_deployment(name: str, domain: str, stages: tuple[Stage, ...], lap: int, tell: Callable[[str], None]) -> FollowedRun:
    """Trigger a deployment of the iteration flow and tell its state and logs until it ends."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterParentFlowRunId,
        LogFilter,
        LogFilterFlowRunId,
    )
    from prefect.client.schemas.sorting import LogSort
    from prefect.deployments import run_deployment as trigger

    parameters = {"domain": domain, "stages": list(stages), "lap": lap}
    # Called where no event loop runs, it answers with the flow run itself.
    started = cast("FlowRun", trigger(name, parameters=parameters, timeout=0, as_subflow=False))
    tell(f"flow run {started.name} ({started.id})")
    seen: set[UUID] = set()
    quiet, last = 0, ""
    with get_client(sync_client=True) as client:
        while True:
            run = client.read_flow_run(started.id)
            below = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[started.id]))
            ours = [started.id, *(child.id for child in client.read_flow_runs(flow_run_filter=below))]
            recent = LogFilter(flow_run_id=LogFilterFlowRunId(any_=ours))
            logs = [log for log in client.read_logs(recent, sort=LogSort.TIMESTAMP_DESC, limit=200) if log.id not in seen]
            for log in reversed(logs):
                tell(log.message)
            seen |= {log.id for log in logs}
            state = run.state
            if state is not None and state.name != last:
                last = state.name or state.type.value
                tell(f"state: {last}")
            quiet = 0 if logs else quiet + 1
            if state is not None and state.is_final() and quiet >= LOGS_LATE_S:
                return FollowedRun(str(run.id), run.name, last, state.message or "")
            time.sleep(1.0)
