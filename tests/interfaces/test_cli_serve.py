"""``kickwheel serve``: what it would do, what it refuses, and the README's example against a real process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.cli.serve import command
from kickwheel.errors import InputError
from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.serving.routing_adapter import read_routing, routing_path, write_routing
from kickwheel.testing.model_server import FakeModelServer
from schemas.serving import Routing, ServedVersion
from tests.conftest import ROOT

DOMAIN = ROOT / "examples" / "dataops"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(ROOT)
    return tmp_path / "home"


def dry_run(*options: str) -> dict[str, object]:
    result = CliRunner().invoke(app, ["serve", str(DOMAIN), *options, "--dry-run", "--json"])
    assert result.exit_code == 0, (result.output, result.exception)
    told: dict[str, object] = json.loads(result.stdout)
    return told


def test_a_dry_run_says_what_would_be_served_and_leaves_nothing(home: Path) -> None:
    told = dry_run()
    assert told["champion"] == "dataops-probe"
    assert "nothing was promoted yet" in str(told["serves"])
    assert dry_run("--probe", "--port", "9")["address"] == "http://127.0.0.1:9"
    assert not home.exists() or list(home.rglob("*.db")) == []


def test_the_routing_in_service_is_what_is_served(home: Path) -> None:
    with FakeModelServer() as server:
        version = ServedVersion(name="lap-2", kind="vllm", url=server.url, model="base")
        write_routing(routing_path(home, "dataops"), Routing(revision=1, champion=version))
        assert dry_run()["champion"] == "lap-2"
        assert dry_run("--model-url", server.url, "--model", "base")["champion"] == "base"
    result = CliRunner().invoke(app, ["serve", str(DOMAIN), "--dry-run"])  # its server is gone, and no folder to start it from
    assert "does not answer" in str(result.exception)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "no token is configured"),  # noqa: S104 - what must be refused
        (["--probe", "--model-url", "http://127.0.0.1:1/v1"], "needs no model server"),
        (["--model", "lap-2"], "name the server"),
        (["--model-url", "http://127.0.0.1:1/v1"], "nothing was promoted yet"),
    ],
)
def test_what_does_not_go_together_is_refused(options: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["serve", str(DOMAIN), *options, "--dry-run"])
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)


def test_its_help_has_examples() -> None:
    assert "kickwheel serve examples/dataops" in (command.__doc__ or "")


def readme_example() -> str:
    """The README's curl command."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^curl .*?/v1/understand(?:.*\\\n)*.*$", text, re.MULTILINE)
    assert found, "README.md has no curl example of /v1/understand"
    return found.group()


def test_the_example_of_the_readme_works_and_a_term_signal_loses_no_record(home: Path) -> None:
    code = "from kickwheel.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", str(DOMAIN), "--probe", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "KICKWHEEL_HOME": str(home)},
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        address = told["address"]
        _wait(f"{address}/readyz")
        script = readme_example().replace("http://127.0.0.1:8500", address)
        answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
        reply = json.loads(answer.stdout)
        assert reply["frame"]["intent"] == "sync_orders"
        assert reply["model_version"] == "dataops-probe"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
        if process.stdout is not None:
            process.stdout.close()
    standing = read_routing(routing_path(home, "dataops"))
    assert standing is not None
    assert standing.champion.name == "dataops-probe"
    (store,) = (home / "dataops" / "feedback").glob("*.sqlite3")
    with contextlib.closing(SqlEventStore(f"sqlite:///{store}")) as kept:
        (exchange,) = kept.exchanges()
        assert exchange.record.inference_id == reply["inference_id"]


def _wait(url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"{url} was not ready in time")
