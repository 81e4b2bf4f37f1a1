"""The command line: usage, clear errors, one JSON object on stdout."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.cli.run import parse_stages
from kickwheel.cli.settings import reference
from kickwheel.errors import InputError
from schemas.lap import STAGES

ROOT = Path(__file__).resolve().parents[2]


def kickwheel(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """The installed command, in a process of its own."""
    environment = {**os.environ, "KICKWHEEL_HOME": str(home), "COLUMNS": "200", "NO_COLOR": "1"}
    command = [str(Path(sys.executable).with_name("kickwheel")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)


@pytest.mark.parametrize("command", ["run", "up", "init", "check", "doctor", "settings"])
def test_every_command_has_help_with_examples(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"kickwheel {command}" in result.stdout


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("kickwheel 0.")


def test_a_missing_domain_is_one_clear_message_and_no_traceback(tmp_path: Path) -> None:
    done = kickwheel("run", "no-such-domain", home=tmp_path)
    assert done.returncode == 2
    assert "no-such-domain" in done.stderr
    assert "kickwheel init" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_unknown_stage_names_those_that_there_are() -> None:
    with pytest.raises(InputError, match="expected some of intent, seeding"):
        parse_stages("tunning")
    assert parse_stages("tuning, intent") == ("intent", "tuning")
    assert parse_stages("") == STAGES


def test_a_setting_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KICKWHEEL_SEEDING__ROUNDS", "none")
    done = kickwheel("doctor", home=tmp_path)
    assert done.returncode == 2
    assert "KICKWHEEL_SEEDING__ROUNDS" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_says_which_torch_is_there(tmp_path: Path) -> None:
    done = kickwheel("doctor", "--json", home=tmp_path)
    findings = {item["what"]: item for item in json.loads(done.stdout)}
    assert "build" in findings["torch"]["found"] or "(" in findings["torch"]["found"]
    assert findings["mlflow"]["state"] == "ok"


def test_up_names_the_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = kickwheel("up", "--prefect-port", port, home=tmp_path)
    assert done.returncode == 2
    assert f"port {port}" in done.stderr
    assert "--prefect-port" in done.stderr


def test_the_settings_reference_in_docs_is_what_the_command_prints() -> None:
    written = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert written == reference(), "run: kickwheel settings > docs/settings.md"
