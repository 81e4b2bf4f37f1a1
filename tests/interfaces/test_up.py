"""``kickwheel up`` for real: both UIs answer, a lap runs as a deployment, and nothing is left when it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
KICKWHEEL = str(Path(sys.executable).with_name("kickwheel"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    own = {"KICKWHEEL_HOME": str(tmp_path / "home"), "PREFECT_HOME": str(tmp_path / "prefect"), "NO_COLOR": "1"}
    return {**os.environ, **own}


@pytest.fixture
def addresses(tmp_path: Path, environment: dict[str, str]) -> Iterator[list[str]]:
    """What ``up`` prints, while it runs."""
    command = [KICKWHEEL, "up", "--prefect-port", str(free_port()), "--mlflow-port", str(free_port())]
    out = tmp_path / "up.out"
    with out.open("wb") as file, (tmp_path / "up.err").open("wb") as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=errors)
    try:
        deadline = time.monotonic() + 240
        while "MLflow UI" not in (printed := out.read_text()):
            assert process.poll() is None, (tmp_path / "up.err").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield [line.split()[-1] for line in printed.splitlines()]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    left = [
        item.pid
        for item in psutil.process_iter(["environ"])
        if (item.info["environ"] or {}).get("KICKWHEEL_HOME") == str(tmp_path / "home")
    ]
    assert not left, "up left services behind"


def test_both_uis_answer_and_a_lap_runs_as_a_deployment(
    addresses: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    assert len(addresses) == 2
    for address in addresses:
        with urllib.request.urlopen(address, timeout=30) as page:  # noqa: S310 - our own http address
            assert page.status == 200
            assert b"<html" in page.read().lower()
    command = [KICKWHEEL, "run", "examples/dataops", "--stages", "intent", "--deployment", "iteration/local", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["state"] == "Completed"
    assert "intent: finished" in done.stderr
    assert (tmp_path / "home" / "dataops" / "laps" / "0001" / "intent" / "result.json").is_file()
