"""The one file of the domain package that starts flows: in this process, or as a Prefect deployment."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, cast

from schemas.lap import LapReport, Stage


def run_lap(domain: str, stages: tuple[Stage, ...], lap: int) -> LapReport:
    """Run the flow here. SIGTERM ends it like Ctrl-C, so that checkpoints are kept and MLflow says KILLED."""
    from flows.iteration import iteration

    signal.signal(signal.SIGTERM, _terminate)
    return iteration(domain=domain, lap=lap, stages=list(stages))


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if TYPE_CHECKING:
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
    from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
    from prefect.client.schemas.sorting import LogSort
    from prefect.deployments import run_deployment as trigger

    parameters = {"domain": domain, "stages": list(stages), "lap": lap}
    # Called where no event loop runs, it answers with the flow run itself.
    started = cast("FlowRun", trigger(name, parameters=parameters, timeout=0, as_subflow=False))
    tell(f"flow run {started.name} ({started.id})")
    seen, last = 0, ""
    with get_client(sync_client=True) as client:
        while True:
            run = client.read_flow_run(started.id)
            logs = client.read_logs(
                LogFilter(flow_run_id=LogFilterFlowRunId(any_=[started.id])), offset=seen, sort=LogSort.TIMESTAMP_ASC
            )
            for log in logs:
                tell(log.message)
            seen += len(logs)
            state = run.state
            if state is not None and state.name != last:
                last = state.name or state.type.value
                tell(f"state: {last}")
            if state is not None and state.is_final() and not logs:
                return FollowedRun(str(run.id), run.name, last, state.message or "")
            time.sleep(1.0)
