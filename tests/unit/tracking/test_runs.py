"""MLflow runs end truthfully, on a real SQLite store."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kickwheel.errors import RequestRefused
from kickwheel.inference.ports import ChatRequest, Message
from kickwheel.promotion.ledger import Ledger
from kickwheel.promotion.moves import Mover
from kickwheel.settings import Settings
from kickwheel.testing.scripted_teacher import ScriptedTeacher
from kickwheel.tracking.registry_adapter import AdapterRegistry
from kickwheel.tracking.runs_adapter import LapTracker
from kickwheel.tracking.traced_client_adapter import TracedClient
from kickwheel.workspace import folder_ref, open_lap
from schemas.base import DataRef
from schemas.tuning import AdapterArtifact, LoraPlan

pytestmark = pytest.mark.filterwarnings("default")  # MLflow's own dependencies warn


def tracker_in(home: Path) -> LapTracker:
    return LapTracker(Settings(home=home), "dataops", open_lap(home, "dataops"))


def status(tracker: LapTracker, run_id: str) -> str:
    return str(tracker.client.get_run(run_id).info.status)


def test_a_lap_has_a_parent_with_children_named_by_stage(tmp_path: Path) -> None:
    tracker = tracker_in(tmp_path)
    with tracker.lap({"kickwheel.lap": "1"}, {"seed": 7}) as parent, tracker.stage("seeding", {}) as child:
        child.metrics({"labels": 3})
        child.series({"loss": [(step, 1.0 / (step + 1)) for step in range(1200)]})
        child.dataset(DataRef(path="train.jsonl", sha256="a" * 64, rows=3), "train", "training")
    run = tracker.client.get_run(child.run_id)
    assert run.info.run_name == "seeding"
    assert run.data.tags["mlflow.parentRunId"] == parent.run_id
    assert run.data.metrics["labels"] == 3
    assert len(tracker.client.get_metric_history(child.run_id, "loss")) == 1200
    assert run.inputs.dataset_inputs[0].dataset.digest == "a" * 36
    assert status(tracker, child.run_id) == status(tracker, parent.run_id) == "FINISHED"


def test_a_prompt_gets_a_new_version_only_when_it_says_something_new(tmp_path: Path) -> None:
    tracker = tracker_in(tmp_path)
    run = tracker.parent
    first = [{"role": "system", "content": "Label each message.\n{{facts}}"}, {"role": "user", "content": "{{text}}"}]
    second = [{"role": "system", "content": "Label every message."}, first[1]]
    assert [run.prompt("dataops-teacher", said) for said in (first, first, second)] == ["1", "1", "2"]
    linked = json.loads(tracker.client.get_run(run.run_id).data.tags["mlflow.linkedPrompts"])
    assert linked == [{"name": "dataops-teacher", "version": version} for version in ("1", "2")]


@pytest.mark.parametrize(
    ("error", "ends"), [(RuntimeError("no"), "FAILED"), (SystemExit(143), "KILLED"), (KeyboardInterrupt(), "KILLED")]
)
def test_an_exception_is_failed_and_a_signal_is_killed(tmp_path: Path, error: BaseException, ends: str) -> None:
    # mlflow/mlflow 5963, huggingface/transformers 30333
    tracker = tracker_in(tmp_path)
    with pytest.raises(type(error)), tracker.lap({}, {}), tracker.stage("tuning", {}) as child:
        raise error
    assert status(tracker, child.run_id) == ends
    assert status(tracker, tracker.parent.run_id) == ends


def test_what_kill_9_left_running_is_reaped_and_the_lap_keeps_its_parent(tmp_path: Path) -> None:
    # PrefectHQ/prefect 16746, NovaSky-AI/SkyRL 1516
    script = (
        "import os, signal, sys; from pathlib import Path; sys.path.insert(0, os.getcwd())\n"
        "from tests.unit.tracking.test_runs import tracker_in\n"
        f"t = tracker_in(Path({str(tmp_path)!r}))\n"
        "with t.lap({}, {}), t.stage('tuning', {}) as child:\n"
        "    print(child.run_id, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL, done.stderr
    child = done.stdout.split()[-1]
    tracker = tracker_in(tmp_path)
    parent = tracker.parent.run_id
    assert status(tracker, child) == "RUNNING"
    with tracker.lap({}, {}):
        assert status(tracker, child) == "KILLED"
        assert status(tracker, parent) == "RUNNING"
    assert tracker.parent.run_id == parent


def test_parameters_of_a_lap_are_those_that_it_was_begun_with(tmp_path: Path) -> None:
    tracker = tracker_in(tmp_path)
    for seed in (7, 8):
        with tracker.lap({}, {"seed": seed, f"only_{seed}": True}):
            pass
    params = tracker.client.get_run(tracker.parent.run_id).data.params
    assert params == {"seed": "7", "only_7": "True", "only_8": "True"}


class NothingServed:
    def routing(self) -> None:
        return None

    def tidy(self) -> None:
        """There is nothing to end."""


def adapter(folder: Path, content: bytes) -> AdapterArtifact:
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(content)
    return AdapterArtifact(
        name=folder.name, folder=folder_ref(folder), base_model="b", base_path="b", train_sha256="0" * 64, plan=LoraPlan()
    )


def test_promotions_move_the_alias_once_and_are_kept_in_the_ledger(tmp_path: Path) -> None:
    # mlflow/mlflow 2169
    tracker = tracker_in(tmp_path)
    registry = AdapterRegistry(tracker.client, "dataops", tmp_path / "promotions.jsonl")
    assert registry.champion(tmp_path / "fetched") is None
    with tracker.stage("tuning", {}) as run:
        first, second = adapter(tmp_path / "first", b"1"), adapter(tmp_path / "second", b"2")
        versions = [registry.register(item, run) for item in (first, second, first)]
        assert versions == ["1", "2", "1"]
        mover = Mover(registry, NothingServed(), Ledger(tmp_path / "promotions.jsonl"), "test", lambda: "2026-01-01T00:00:00Z")
        for version in ("1", "1", "2"):
            mover.promote(version, reasons=("better",))
    assert registry.champion(tmp_path / "fetched") == second
    shutil.rmtree(tmp_path / "second")
    fetched = registry.champion(tmp_path / "fetched")
    assert fetched is not None
    assert folder_ref(Path(fetched.folder.path)).sha256 == second.folder.sha256
    assert [(move.from_version, move.to_version) for move in registry.history()] == [(None, "1"), ("1", "2")]


def test_teacher_calls_are_traces_of_the_stage(tmp_path: Path) -> None:
    tracker = LapTracker(Settings(home=tmp_path), "shop", open_lap(tmp_path, "shop"))
    refused = RequestRefused("too long")
    answers: list[object] = ['{"intent": "sync_orders"}', refused]
    request = ChatRequest(messages=(Message("user", "把订单同步一下 😀"),), max_tokens=8)
    with tracker.stage("seeding", {}) as run:
        client = TracedClient(ScriptedTeacher(answers), "teacher", run)  # type: ignore[arg-type]
        assert client.complete(request).text == answers[0]
        with pytest.raises(RequestRefused):
            client.complete(request)
        client.flush()
    traces = tracker.client.search_traces(locations=[tracker.experiment_id])
    assert sorted(str(trace.info.state.value) for trace in traces) == ["ERROR", "OK"]
    answered = next(trace for trace in traces if trace.info.state.value == "OK")
    span = answered.data.spans[0]
    assert span.inputs["messages"][0]["content"] == "把订单同步一下 😀"
    assert span.outputs["content"] == answers[0]
    assert answered.info.trace_metadata["mlflow.sourceRun"] == run.run_id
    assert answered.info.token_usage["output_tokens"] == 2
