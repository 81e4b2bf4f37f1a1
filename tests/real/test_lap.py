"""One real, short lap: packaged base model, real vLLM as teacher and server, real LoRA steps, real load."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kickwheel.errors import ServerNotInstalled
from kickwheel.inference.vllm_adapter import find_server_command
from kickwheel.settings import ServerSettings
from schemas.lap import STAGES, LapReport

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.real, pytest.mark.timeout(2700)]


def short_domain(folder: Path) -> Path:
    """The example domain with a few rows of each split."""
    shutil.copytree(ROOT / "examples" / "dataops", folder)
    for name, rows in {"seeds": 80, "pool": 40, "valid": 20, "eval": 24, "feedback": 24}.items():
        path = folder / f"{name}.jsonl"
        path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:rows]), encoding="utf-8")
    return folder


def test_a_short_lap_is_real_from_end_to_end(tmp_path: Path) -> None:
    try:
        find_server_command(ServerSettings())
    except ServerNotInstalled as error:
        pytest.skip(str(error))
    settings = {
        "HOME": str(tmp_path / "home"),
        "SEEDING__PER_ROUND": "6",
        "TUNING__MAX_TOKENS": "3000",
        "DISTILLATION__MAX_TOKENS": "1500",
        "THROUGHPUT__START_RATE": "1",
        "THROUGHPUT__MAX_POINTS": "2",
        "THROUGHPUT__MIN_REQUESTS": "4",
        "THROUGHPUT__STEP_S": "4",
        "THROUGHPUT__UNLOADED_REQUESTS": "4",
        "THROUGHPUT__BURST": "8",
        "THROUGHPUT__SLO__P99_MS": "120000",  # how quick a machine is, is not what is tested
    }
    environment = {**os.environ, **{f"KICKWHEEL_{name}": value for name, value in settings.items()}}
    environment["PREFECT_HOME"] = str(tmp_path / "prefect")
    command = [str(Path(sys.executable).with_name("kickwheel")), "run", str(short_domain(tmp_path / "dataops")), "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]

    report = LapReport.model_validate(json.loads(done.stdout))  # one object, and nothing else, on stdout
    assert [item.stage for item in report.stages] == list(STAGES)
    assert report.seeding is not None
    assert report.seeding.teacher.model == "smollm2-135m-instruct"
    assert sum(item.teacher_calls for item in report.seeding.rounds) >= 12
    assert report.tuning is not None
    assert report.tuning.evaluation("tuned").evaluated_with.startswith("vLLM")
    assert report.tuning.losses[-1].loss < report.tuning.losses[0].loss
    assert report.throughput is not None
    assert report.throughput.measured
    assert {point.arm for point in report.throughput.points} == {"base", "adapter"}
    assert all(point.succeeded for point in report.throughput.points)
    assert report.distillation is not None
    assert report.distillation.gate is not None
    left = [
        process.pid for process in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(process.info["cmdline"] or [])
    ]
    assert not left, "a model server was left behind"
