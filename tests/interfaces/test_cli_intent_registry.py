"""``kickwheel intent diff``, ``publish``, ``migrate`` and ``text``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.domain import check_domain

ROOT = Path(__file__).resolve().parents[2]
runner = CliRunner()


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    """A copy of the bundled example."""
    return shutil.copytree(ROOT / "examples" / "dataops", tmp_path / "dataops")


def rename(domain: Path, old: str, new: str) -> None:
    path = domain / "requirements" / "订单与数据质量.md"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_nothing_changed_in_the_bundled_example() -> None:
    result = runner.invoke(app, ["intent", "diff", str(ROOT / "examples" / "dataops")])
    assert (result.exit_code, result.stdout) == (0, "dataops 1.0.0: nothing changed\n")


def test_diff_tells_changes_and_what_they_touch(domain: Path) -> None:
    rename(domain, "意图：sync_orders", "意图：refresh_orders")
    result = runner.invoke(app, ["intent", "diff", str(domain)])
    assert result.exit_code == 0
    assert "  refresh_orders 1.0.0 -> 2.0.0 (major)" in result.stdout
    assert "  deployments: sync_orders, refresh_orders" in result.stdout
    report = json.loads(runner.invoke(app, ["intent", "diff", str(domain), "--json"]).stdout)
    assert report["next"] == "2.0.0"
    labelled = [json.loads(line) for line in (domain / "eval.jsonl").read_text(encoding="utf-8").splitlines()]
    wanted = [row["id"] for row in labelled if row["frame"]["intent"] == "sync_orders"]
    assert report["impact"]["evaluation"]["ids"] == wanted
    assert f"  eval.jsonl: {len(wanted)} rows ({', '.join(wanted[:5])}, …)" in result.stdout


def test_publish_then_migrate_and_the_domain_holds(domain: Path) -> None:
    rename(domain, "意图：sync_orders", "意图：refresh_orders")
    foretold = runner.invoke(app, ["intent", "publish", str(domain), "--dry-run"])
    assert (foretold.exit_code, foretold.stderr) == (0, "would publish dataops 2.0.0\n")
    published = runner.invoke(app, ["intent", "publish", str(domain)])
    assert published.stderr == "published dataops 2.0.0\n"
    assert published.stdout == foretold.stdout
    again = runner.invoke(app, ["intent", "publish", str(domain)])
    assert (again.stdout, again.stderr) == ("dataops 2.0.0: nothing changed\n", "")

    path = domain / "migration.yaml"
    path.write_text("rename: {sync_orders: refresh_orders}\n", encoding="utf-8")
    dry = runner.invoke(app, ["intent", "migrate", str(domain), str(path), "--dry-run"])
    assert "dry run: nothing was written" in dry.stdout
    done = runner.invoke(app, ["intent", "migrate", str(domain), str(path)])
    assert done.exit_code == 0
    assert "eval: of 300 evaluation rows" in done.stdout
    assert check_domain(domain) == []
    report = json.loads(runner.invoke(app, ["intent", "migrate", str(domain), str(path), "--json"]).stdout)
    assert (report["written"], report["waiting"]) == (False, 0)


def test_map_that_does_not_hold_names_every_problem(domain: Path) -> None:
    path = domain / "migration.yaml"
    path.write_text("rename: {sync_orders: a, fetch_api_logs: b}\n", encoding="utf-8")
    result = runner.invoke(app, ["intent", "migrate", str(domain), str(path)])
    assert result.exit_code == 2
    assert "no intent 'a'" in result.stderr
    assert "no intent 'b'" in result.stderr


@pytest.mark.parametrize("command", [["diff"], ["publish"], ["migrate", "map.yaml"]])
def test_folder_without_a_domain_is_told(tmp_path: Path, command: list[str]) -> None:
    result = runner.invoke(app, ["intent", command[0], str(tmp_path), *command[1:]])
    assert result.exit_code == 2
    assert "no domain" in result.stderr


def test_text_prints_a_document_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<h1>需求</h1><p>每日9点同步用户订单</p>", encoding="utf-8")
    assert runner.invoke(app, ["intent", "text", str(path)]).stdout == "# 需求\n\n每日9点同步用户订单\n"
    assert runner.invoke(app, ["intent", "text", str(tmp_path / "none.md")]).exit_code == 2
    [line] = runner.invoke(app, ["intent", "map", "--zone", "UTC", str(path)]).stdout.splitlines()
    assert (json.loads(line)["line"], json.loads(line)["quote"]) == (3, "每日9点同步用户订单")


def test_statement_edited_into_a_rejected_one_is_pointed_at(domain: Path) -> None:
    rename(domain, "每日9点同步用户订单至数据湖", "每天凌晨同步用户订单至数据湖")
    result = runner.invoke(app, ["intent", "diff", str(domain)])
    assert "sync_orders 1.0.0 -> removed (major)" in result.stdout
    assert "removed: sync_orders." in result.stderr
    assert "订单与数据质量.md:9 (ambiguous_time)" in result.stderr.replace("\n", "")
