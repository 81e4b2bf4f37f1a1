"""``kickwheel serve-model`` as a process: ready, stopped, killed, detached; with a stand-in for vLLM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

STAND_IN = """
import subprocess, sys, time
from kickwheel.testing.model_server import FakeModelServer
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with FakeModelServer(base_name=arguments["--served-model-name"], port=int(arguments["--port"])):
    time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment of the command; whatever it leaves running is ended and makes the test fail."""
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN, encoding="utf-8")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"")
    (model / "chat_template.jinja").write_text("")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"target_modules": ["q_proj"]}')
    yield {
        **os.environ,
        "KICKWHEEL_HOME": str(tmp_path / "home"),
        "KICKWHEEL_SERVER__COMMAND": f"{sys.executable} {script}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    left = [process for process in psutil.process_iter(["cmdline"]) if str(script) in " ".join(process.info["cmdline"] or [])]
    for process in left:
        process.kill()
    assert left == []


def start(place: dict[str, str], tmp_path: Path, *more: str) -> tuple[subprocess.Popen[str], dict[str, object]]:
    command = [
        sys.executable,
        "-m",
        "kickwheel",
        "serve-model",
        str(tmp_path / "model"),
        "--json",
        "--warm-up",
        "forward",
        *more,
    ]
    process = subprocess.Popen(command, env=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.wait()
        assert process.stderr is not None
        raise AssertionError(process.stderr.read())
    return process, json.loads(line)


def run(place: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kickwheel", "serve-model", *arguments]
    return subprocess.run(command, env=place, capture_output=True, text=True, check=False)


def group_of_server(place: dict[str, str]) -> list[int]:
    script = place["KICKWHEEL_SERVER__COMMAND"].split()[-1]
    found = [process.pid for process in psutil.process_iter(["cmdline"]) if script in (process.info["cmdline"] or [])]
    leaders = {os.getpgid(pid) for pid in found}
    return [process.pid for process in psutil.process_iter() if _group(process.pid) in leaders]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def becomes_true(condition: Callable[[], bool], within_s: float = 30.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_a_server_with_an_adapter_is_ready_when_it_says_so_and_gone_after_sigterm(
    place: dict[str, str], tmp_path: Path
) -> None:
    process, record = start(place, tmp_path, "--adapter", f"tuned={tmp_path / 'adapter'}")
    assert (record["model"], record["adapters"]) == ("model", ["tuned"])
    assert Path(str(record["log"])).is_file()
    listed = json.loads(run(place, "--list", "--json").stdout)
    assert [item["url"] for item in listed] == [record["url"]]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    process.communicate()
    assert json.loads(run(place, "--list", "--json").stdout) == []


def test_kill_9_of_the_command_leaves_no_process(place: dict[str, str], tmp_path: Path) -> None:
    process, _record = start(place, tmp_path)
    group = group_of_server(place)
    assert len(group) >= 2
    process.kill()
    process.communicate()
    assert becomes_true(lambda: not any(psutil.pid_exists(pid) for pid in group))


def test_a_server_that_dies_ends_the_command_with_1(place: dict[str, str], tmp_path: Path) -> None:
    process, _record = start(place, tmp_path)
    for pid in group_of_server(place):
        os.kill(pid, signal.SIGKILL)
    assert process.wait(30) == 1
    assert "the model server ended" in process.communicate()[1]


def test_a_detached_server_outlives_the_command_takes_adapters_and_is_stopped_by_its_url(
    place: dict[str, str], tmp_path: Path
) -> None:
    made = run(place, str(tmp_path / "model"), "--warm-up", "none", "--detach", "--json")
    assert made.returncode == 0, made.stderr
    record = json.loads(made.stdout)
    loaded = run(place, "--url", record["url"], "--adapter", f"next={tmp_path / 'adapter'}", "--warm-up", "none", "--json")
    assert json.loads(loaded.stdout)["adapters"] == ["next"]
    stopped = run(place, "--stop", record["url"], "--json")
    assert [item["pid"] for item in json.loads(stopped.stdout)] == [record["pid"]]
    assert json.loads(run(place, "--list", "--json").stdout) == []


def test_a_dry_run_prints_the_command_and_starts_nothing(place: dict[str, str], tmp_path: Path) -> None:
    done = run(place, str(tmp_path / "model"), "--adapter", f"tuned={tmp_path / 'adapter'}", "--dry-run", "--json")
    said = json.loads(done.stdout)
    assert "--enable-lora" in said["command"]
    assert said["adapters"] == {"tuned": str(tmp_path / "adapter")}


def test_what_cannot_be_served_ends_with_2(place: dict[str, str], tmp_path: Path) -> None:
    for arguments in (
        ("x", "--adapter", "a=/nowhere"),
        (str(tmp_path / "model"), "--merged", "--dry-run"),
        (str(tmp_path / "model"), "--unload", "a"),
        ("--stop", "http://127.0.0.1:1/v1"),
        (),
    ):
        assert run(place, *arguments).returncode == 2
