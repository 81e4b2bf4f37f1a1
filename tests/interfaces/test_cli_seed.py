"""``kickwheel seed``: plans and diffs, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.domain import scaffold_domain
from kickwheel.workspace import read_jsonl, write_jsonl
from schemas.utterance import Utterance


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    return scaffold_domain("claims", tmp_path)


def test_plan_in_json_and_in_words(domain: Path) -> None:
    done = CliRunner().invoke(app, ["seed", "plan", str(domain), "--json"])
    assert done.exit_code == 0, done.output
    plan = json.loads(done.stdout)
    assert plan["calls_made"] == 0
    assert plan["calls"] == sum(item["calls"] for item in plan["rounds"]) > 0
    said = CliRunner().invoke(app, ["seed", "plan", str(domain)]).stdout
    assert f"{plan['rows']} rows, {plan['calls']} calls" in said
    assert said.rstrip().endswith("no call was made")


def test_plan_of_no_domain_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["seed", "plan", str(tmp_path / "gone")])
    assert done.exit_code == 2
    assert "no such folder" in done.stderr


def test_diff_of_two_files(domain: Path, tmp_path: Path) -> None:
    rows = read_jsonl(domain / "seeds.jsonl", Utterance)
    other = write_jsonl(tmp_path / "fewer.jsonl", rows[1:])
    done = CliRunner().invoke(app, ["seed", "diff", str(domain / "seeds.jsonl"), other.path, "--json"])
    assert done.exit_code == 0, done.output
    diff = json.loads(done.stdout)
    assert (diff["added"], diff["removed"], diff["unchanged"]) == ([], [rows[0].id], len(rows) - 1)
    said = CliRunner().invoke(app, ["seed", "diff", str(domain / "seeds.jsonl"), other.path]).stdout
    assert f"removed: 1 ({rows[0].id})" in said


def test_diff_with_a_version_that_is_not_there_says_so(domain: Path) -> None:
    done = CliRunner().invoke(app, ["seed", "diff", "abcdef", str(domain / "seeds.jsonl")])
    assert done.exit_code == 2
    assert "no version begins with it" in done.stderr
