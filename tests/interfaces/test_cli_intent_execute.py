"""``kickwheel intent execute --dry-run``: says what would happen, starts nothing, writes nothing."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app, main
from kickwheel.errors import TaskRefused

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    shutil.copytree(ROOT / "examples" / "dataops", tmp_path / "dataops")
    return tmp_path / "dataops"


def test_a_dry_run_prints_the_plan(example: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["intent", "execute", str(example), "sync_payments", "--dry-run", "--json"])
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert (plan["action"], plan["rows"], plan["reads"]) == ("sync", 4, ["data/payments.csv"])
    assert plan["steps"][1].startswith("in one transaction, replace the rows with the same payment_id")
    by_id = CliRunner().invoke(app, ["intent", "execute", str(example), plan["task_id"], "--dry-run"])
    assert "sync_payments" in by_id.stdout
    assert not (tmp_path / "home").exists()


def test_what_can_t_run_is_refused_before_anything_is_started(example: Path, tmp_path: Path) -> None:
    for name, told in (
        ("export_sales_report", "no executor for the action 'export'; known actions: enrich, fetch, sync, validate"),
        ("nothing", "no task 'nothing'; there are: "),
    ):
        result = CliRunner().invoke(app, ["intent", "execute", str(example), name])
        assert isinstance(result.exception, TaskRefused)
        assert told in str(result.exception)
    assert not (tmp_path / "home").exists()


def test_a_refusal_is_one_line_and_exit_code_2(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kickwheel", "intent", "execute", str(example), "fetch_api_logs", "--dry-run"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "the environment variable API_LOGS_URL is not set" in capsys.readouterr().err.replace("\n", " ")
