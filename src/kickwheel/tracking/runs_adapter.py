"""Runs that end truthfully: FINISHED, FAILED on an exception, KILLED on a signal, and a reaper for those that kill -9 left.

MLflow itself leaves a run RUNNING after SIGTERM or SIGKILL and calls it FINISHED after an exception outside a ``with``
(mlflow/mlflow 5963, huggingface/transformers 30333, NovaSky-AI/SkyRL 1516). A retry is a new child run, since parameters
are immutable (mlflow/mlflow 7152).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import mlflow
import psutil
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunStatus
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID

from kickwheel.settings import Settings
from kickwheel.tracking.store_adapter import open_store
from kickwheel.workspace import Lap, write_atomically
from schemas.base import DataRef

_RUN_ID_FILE = "mlflow-run-id"
_PID, _HOST = "kickwheel.pid", "kickwheel.host"


@dataclass(frozen=True)
class RunRecorder:
    """Writes to one run."""

    client: MlflowClient
    run_id: str

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Log metrics of one step."""
        self.series({name: [(step, value)] for name, value in values.items()})

    def series(self, values: Mapping[str, Sequence[tuple[int, float]]]) -> None:
        """Log whole curves: name -> (step, value), in batches of MLflow's limit of 1,000."""
        now = time.time_ns() // 1_000_000
        points = [Metric(name, value, now, step) for name, series in values.items() for step, value in series]
        for start in range(0, len(points), 1000):
            self.client.log_batch(self.run_id, metrics=points[start : start + 1000])

    def params(self, values: Mapping[str, object]) -> None:
        """Log parameters, a chosen subset, once a run."""
        self.client.log_batch(self.run_id, params=[Param(name, str(value)[:6000]) for name, value in values.items()])

    def tag(self, name: str, value: str) -> None:
        """Set a tag."""
        self.client.set_tag(self.run_id, name, value)

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Attach a file, or the files of a folder."""
        log = self.client.log_artifacts if path.is_dir() else self.client.log_artifact
        log(self.run_id, str(path), folder)

    def text(self, text: str, name: str) -> None:
        """Attach a text as a file."""
        self.client.log_text(self.run_id, text, name)

    def table(self, rows: Sequence[Mapping[str, object]], name: str) -> None:
        """Log rows of the same columns as a table, which the UI compares across runs."""
        columns = {column: [row[column] for row in rows] for column in (rows[0] if rows else ())}
        self.client.log_table(self.run_id, data=columns, artifact_file=f"{name}.json")

    def prompt(self, name: str, messages: Sequence[Mapping[str, str]]) -> str:
        """Link a chat prompt to the run: the registry's newest version if it says the same, else a new one. Returns which."""
        template = [dict(message) for message in messages]
        version = self.client.load_prompt(f"prompts:/{name}@latest", allow_missing=True, cache_ttl_seconds=0)
        if version is None or version.template != template:
            version = self.client.register_prompt(name, template)
        self.client.link_prompt_version_to_run(self.run_id, version)
        return str(version.version)

    def dataset(self, ref: DataRef, name: str, context: str) -> None:
        """Log a dataset input by its hash. MLflow keeps 36 characters of a digest."""
        data = Dataset(
            name=name,
            digest=ref.sha256[:36],
            source_type="local",
            source=f'{{"uri": "{Path(ref.path).as_posix()}"}}',
            profile=f'{{"num_rows": {ref.rows}}}',
        )
        self.client.log_inputs(self.run_id, [DatasetInput(data, [InputTag(MLFLOW_DATASET_CONTEXT, context)])])


class LapTracker:
    """The parent run of a lap and the child runs of its stages."""

    def __init__(self, settings: Settings, domain: str, lap: Lap):
        self.client, self.experiment_id = open_store(settings, domain)
        self._lap = lap

    @property
    def parent(self) -> RunRecorder:
        """The lap's run: taken up again if there is one."""
        path = self._lap.folder / _RUN_ID_FILE
        if not path.is_file():
            run = self.client.create_run(self.experiment_id, run_name=f"lap-{self._lap.number:04d}", tags=_owner())
            write_atomically(path, str(run.info.run_id))
        return RunRecorder(self.client, path.read_text(encoding="utf-8"))

    @contextmanager
    def lap(self, tags: Mapping[str, str], params: Mapping[str, object]) -> Iterator[RunRecorder]:
        """The lap's parent run, RUNNING inside; what a kill left RUNNING is reaped first.

        Parameters are those that the lap was begun with: MLflow's never change. One that is taken up under others has them in
        the runs of its stages.
        """
        parent = self.parent
        self.reap()
        begun_with = self.client.get_run(parent.run_id).data.params
        parent.params({name: value for name, value in params.items() if name not in begun_with})
        self.client.update_run(parent.run_id, status="RUNNING")
        for name, value in {**_owner(), **tags}.items():
            parent.tag(name, value)
        with _truthful_end(parent):
            yield parent

    @contextmanager
    def stage(self, stage: str, tags: Mapping[str, str]) -> Iterator[RunRecorder]:
        """A child run named by the stage, with system metrics."""
        names = {**_owner(), **tags, MLFLOW_PARENT_RUN_ID: self.parent.run_id}
        run_id = self.client.create_run(self.experiment_id, run_name=stage, tags=names).info.run_id
        recorder = RunRecorder(self.client, run_id)
        # The fluent run is entered for its system-metrics monitor; it calls a killed run FAILED, so ours is the outer end.
        with _truthful_end(recorder), mlflow.start_run(run_id=run_id, nested=True, log_system_metrics=True):
            yield recorder

    @contextmanager
    def alone(self, name: str, tags: Mapping[str, str]) -> Iterator[RunRecorder]:
        """A run that belongs to no lap, with system metrics."""
        run_id = self.client.create_run(self.experiment_id, run_name=name, tags={**_owner(), **tags}).info.run_id
        recorder = RunRecorder(self.client, run_id)
        with _truthful_end(recorder), mlflow.start_run(run_id=run_id, log_system_metrics=True):
            yield recorder

    def reap(self) -> list[str]:
        """Mark runs of this lap KILLED whose process is gone; returns their ids."""
        parent = self.parent
        children = self.client.search_runs(
            [self.experiment_id], f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent.run_id}' and attributes.status = 'RUNNING'"
        )
        reaped = []
        for run in [*children, self.client.get_run(parent.run_id)]:
            if run.info.status == "RUNNING" and _is_gone(run.data.tags):
                self.client.set_terminated(run.info.run_id, "KILLED")
                reaped.append(str(run.info.run_id))
        return reaped


@contextmanager
def _truthful_end(recorder: RunRecorder) -> Iterator[None]:
    status = RunStatus.to_string(RunStatus.FINISHED)
    try:
        yield
    except BaseException as error:
        # A signal arrives as KeyboardInterrupt, SystemExit or Prefect's TerminationSignal, none of them an Exception.
        status = RunStatus.to_string(RunStatus.FAILED if isinstance(error, Exception) else RunStatus.KILLED)
        recorder.tag("kickwheel.ended_by", f"{type(error).__name__}: {error}"[:500])
        raise
    finally:
        recorder.client.set_terminated(recorder.run_id, status)


def _owner() -> dict[str, str]:
    return {_PID: str(os.getpid()), _HOST: socket.gethostname()}


def _is_gone(tags: Mapping[str, str]) -> bool:
    pid = tags.get(_PID, "")
    return (
        tags.get(_HOST) == socket.gethostname()
        and pid.isdigit()
        and int(pid) != os.getpid()
        and not psutil.pid_exists(int(pid))
    )
