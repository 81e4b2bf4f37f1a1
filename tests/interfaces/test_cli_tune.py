"""``kickwheel tune``: plans, usage errors, a stop in the middle that MLflow calls KILLED, and runs that are repeated."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mlflow import MlflowClient
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.cli.tune import parse_kinds
from kickwheel.errors import InputError
from tests.tiny_encoder import write_tiny_encoder

ROOT = Path(__file__).resolve().parents[2]


def kickwheel(*arguments: str, home: Path, **settings: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    environment = {**os.environ, "KICKWHEEL_HOME": str(home), "COLUMNS": "200", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    environment |= {f"KICKWHEEL_{name}": value for name, value in settings.items()}
    environment |= {"PREFECT_HOME": str(home.with_name("prefect")), "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    command = [sys.executable, "-c", "from kickwheel.cli import main; main()", "tune", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment, start_new_session=True
    )


def test_kinds_are_known_ones() -> None:
    assert parse_kinds(["encoder,causal", "encoder"]) == ("causal", "encoder")
    with pytest.raises(InputError, match="expected causal or encoder"):
        parse_kinds(["decoder"])
    assert "kickwheel tune" in CliRunner().invoke(app, ["tune", "--help"]).stdout


def test_a_dry_run_tells_plan_reasons_and_warnings_and_writes_nothing(tmp_path: Path) -> None:
    arguments = ("examples/dataops", "--student", "causal,encoder", "--max-tokens", "1500", "--dry-run", "--json")
    process = kickwheel(*arguments, home=tmp_path / "home")
    out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    causal, encoder = json.loads(out)["plans"]
    assert (causal["arm"], encoder["arm"]) == ("causal-lora", "encoder-lora")
    assert "seeds" in causal["rows_from"]
    assert causal["reasons"]
    assert "little is learned" in causal["warnings"][0]["message"]
    assert not (tmp_path / "home").exists()


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    folder = tmp_path / "dataops"
    shutil.copytree(ROOT / "examples" / "dataops", folder)
    for name, rows in {"seeds": 60, "pool": 30, "valid": 20, "eval": 20}.items():
        path = folder / f"{name}.jsonl"
        path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:rows]), encoding="utf-8")
    return folder


@pytest.mark.manual
@pytest.mark.timeout(900)
def test_sigterm_leaves_a_checkpoint_and_a_killed_run_and_a_run_repeats_itself(domain: Path, tmp_path: Path) -> None:
    settings = {"ENCODER__BASE": str(write_tiny_encoder(tmp_path / "encoder")), "ENCODER__EPOCHS": "60"}
    home = tmp_path / "home"
    arguments = (str(domain), "--student", "encoder", "--json")
    process = kickwheel(*arguments, home=home, **settings)
    stage = home / "dataops" / "laps" / "0001" / "tuning"
    deadline = time.monotonic() + 300
    while not any(stage.rglob("checkpoint-*/state.json")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=200)
    assert process.returncode != 0
    assert "Traceback (most recent call last):\n  File" not in error.split("kickwheel", 1)[0]
    assert any(stage.rglob("checkpoint-*/state.json"))

    again = kickwheel(*arguments, home=home, **settings)
    out, error = again.communicate(timeout=400)
    assert again.returncode == 0, error[-3000:]
    (report,) = json.loads(out)["students"]

    client = MlflowClient(f"sqlite:///{home / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("dataops")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    ends = [(run.info.run_name, run.info.status) for run in runs]
    assert ends == [("lap-0001", "FINISHED"), ("tune-encoder-lora", "KILLED"), ("tune-encoder-lora", "FINISHED")]
    assert runs[-1].data.metrics["tuned/joint_frame_accuracy"] == report["evaluations"][0]["overall"]["joint_frame_accuracy"]

    repeated = kickwheel(str(domain), "--from-run", runs[-1].info.run_id, "--json", home=home)
    out, error = repeated.communicate(timeout=400)
    assert repeated.returncode == 0, error[-3000:]
    assert json.loads(out)["students"][0]["same_as_run"] is True
