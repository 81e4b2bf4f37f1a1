"""``kickwheel init``."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from kickwheel.cli import app

runner = CliRunner()


def test_new_domain_is_written_and_holds(tmp_path: Path) -> None:
    made = runner.invoke(app, ["init", "my_desk", "--into", str(tmp_path)])
    assert made.exit_code == 0
    assert made.stdout.strip() == str(tmp_path / "my_desk")
    assert "kickwheel check" in made.stderr
    assert runner.invoke(app, ["check", made.stdout.strip()]).exit_code == 0


def test_second_domain_of_that_name_is_refused(tmp_path: Path) -> None:
    runner.invoke(app, ["init", "my_desk", "--into", str(tmp_path)])
    again = runner.invoke(app, ["init", "my_desk", "--into", str(tmp_path)])
    assert again.exit_code == 1
    assert (again.stdout, "exists already" in again.stderr) == ("", True)


def test_help_shows_an_example() -> None:
    assert "kickwheel init support_desk" in runner.invoke(app, ["init", "--help"]).stdout
