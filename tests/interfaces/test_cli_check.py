"""``kickwheel check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.domain import scaffold_domain

runner = CliRunner()


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    return scaffold_domain("demo", tmp_path)


def test_domain_that_holds_is_ok(domain: Path) -> None:
    result = runner.invoke(app, ["check", str(domain)])
    assert (result.exit_code, result.stdout) == (0, f"{domain}: ok\n")
    assert "note: there is no review file" in result.stderr


def test_every_problem_is_told_with_its_place_and_the_exit_code_is_1(domain: Path) -> None:
    with (domain / "eval.jsonl").open("a", encoding="utf-8") as file:
        file.write("{torn\n[]\n")
    result = runner.invoke(app, ["check", str(domain)])
    assert (result.exit_code, result.stdout) == (1, f"{domain}: 2 problems\n")
    assert f"{domain / 'eval.jsonl'}:4: " in result.stderr
    assert f"{domain / 'eval.jsonl'}:5: " in result.stderr


def test_json_is_one_object_on_stdout(domain: Path) -> None:
    good = json.loads(runner.invoke(app, ["check", str(domain), "--json"]).stdout)
    assert (good["ok"], good["problems"]) == (True, [])
    (domain / "domain.yaml").write_text("name: demo\nzone: CST\n", encoding="utf-8")
    result = runner.invoke(app, ["check", str(domain), "--json"])
    assert result.exit_code == 1
    [problem] = json.loads(result.stdout)["problems"]
    assert (problem["line"], problem["field"], result.stderr) == (2, "zone", "")


def test_folder_without_domain_is_a_problem_not_a_traceback(tmp_path: Path) -> None:
    result = runner.invoke(app, ["check", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert "kickwheel init" in result.stderr


def test_help_shows_an_example() -> None:
    assert "kickwheel check examples/dataops" in runner.invoke(app, ["check", "--help"]).stdout
