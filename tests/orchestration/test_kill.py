"""``kill -9`` in the middle of a lap, then again: nothing is paid for twice, MLflow says KILLED, the lap completes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from kickwheel.testing.model_server import FakeModelServer
from kickwheel.workspace import Lap

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

REPLY = '{"intent": "fetch_api_logs", "slots": {}}'
STAGES = "intent,seeding,tuning"


@pytest.fixture
def teacher() -> Iterator[FakeModelServer]:
    with FakeModelServer(reply=lambda messages, model: REPLY, ttft_s=0.05) as server:
        yield server


def start(domain: Path, home: Path, base: Path, teacher: FakeModelServer) -> subprocess.Popen[bytes]:
    """A lap of three stages in a process of its own; one teacher call at a time, so that a kill interrupts one at most."""
    settings = {
        "HOME": str(home),
        "MODEL__BASE": str(base),
        "SERVER__COMMAND": "no-such-vllm",
        "TEACHER__BASE_URL": teacher.url,
        "INTENT__RECOGNISER": "rules",  # the calls that are counted are those of seeding
        "TEACHER__MODEL": teacher.base_name,
        "TEACHER__MAX_CONCURRENCY": "1",
        "SEEDING__PER_ROUND": "8",
        "TUNING__MAX_TOKENS": "60000",
    }
    environment = {**os.environ, **{f"KICKWHEEL_{name}": value for name, value in settings.items()}}
    environment["PREFECT_HOME"] = str(home.with_name(f"{home.name}-prefect"))
    command = [str(Path(sys.executable).with_name("kickwheel")), "run", str(domain), "--stages", STAGES]
    with (home.parent / "lap.log").open("ab") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True)


def kill_when(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not ready():
        assert process.poll() is None, "the lap ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_lap_killed_in_seeding_and_in_tuning_repeats_no_teacher_call(
    example: Path, tmp_path: Path, tiny_base: Path, teacher: FakeModelServer
) -> None:
    undisturbed = start(example, tmp_path / "calm", tiny_base, teacher)
    assert undisturbed.wait(300) == 0, (tmp_path / "lap.log").read_text(errors="replace")[-4000:]
    calls = len(teacher.chats)
    assert calls >= 16

    home = tmp_path / "home"
    teacher.requests.clear()
    kill_when(start(example, home, tiny_base, teacher), lambda: len(teacher.chats) >= 5)
    answered = (home / "dataops" / "teacher_calls.jsonl").read_bytes().count(b"\n")
    interrupted = len(teacher.chats) - answered
    assert interrupted in (0, 1)  # asked, but killed before the answer was there

    stage = home / "dataops" / "laps" / "0001" / "tuning"
    kill_when(start(example, home, tiny_base, teacher), lambda: any(stage.rglob("checkpoint-*/trainer_state.json")))
    assert len(teacher.chats) == calls + interrupted

    last = start(example, home, tiny_base, teacher)
    assert last.wait(300) == 0, (tmp_path / "lap.log").read_text(errors="replace")[-4000:]
    assert len(teacher.chats) == calls + interrupted

    client = MlflowClient(f"sqlite:///{home / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("dataops")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    ends = [(run.info.run_name, run.info.status) for run in runs]
    assert ends.count(("seeding", "KILLED")) == 1
    assert ends.count(("seeding", "FINISHED")) == 1
    assert ends.count(("tuning", "KILLED")) == 1
    assert ends.count(("tuning", "FINISHED")) == 1
    assert ends.count(("lap-0001", "FINISHED")) == 1
    calm, disturbed = (Lap(tmp_path / name / "dataops" / "laps" / "0001", 1) for name in ("calm", "home"))
    assert _weights(calm) == _weights(disturbed)  # taken up from the checkpoint, as if nothing had been


def _weights(lap: Lap) -> bytes:
    return next(lap.folder.rglob("tuning/**/adapter/adapter_model.safetensors")).read_bytes()
