"""``kickwheel intent``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.testing.model_server import Failure, FakeModelServer

ROOT = Path(__file__).resolve().parents[2]
runner = CliRunner()
WHITE_PAPER = "每小时拉取API日志\n每日9点同步用户订单至数据湖\n"


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def statements(tmp_path: Path) -> Path:
    path = tmp_path / "statements.txt"
    path.write_text(WHITE_PAPER, encoding="utf-8")
    return path


def test_white_paper_s_statements_become_its_schemas(statements: Path) -> None:
    found = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", str(statements)]))
    shown = [(line["status"], line["action"], line["target"], line["cron"], line["rrule"], line["zone"]) for line in found]
    assert shown == [
        ("mapped", "fetch", "api_logs", "0 * * * *", None, "UTC"),
        ("mapped", "sync", "orders_datalake", "0 9 * * *", None, "UTC"),
    ]
    assert [line["quote"] for line in found] == WHITE_PAPER.split()


def test_seconds_first_form_is_written_on_request(statements: Path) -> None:
    found = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", "--cron-format", "seconds-first", str(statements)]))
    assert [line["cron"] for line in found] == ["0 0 * * * *", "0 0 9 * * *"]


def test_seconds_first_form_is_read_only_on_request() -> None:
    text = "0 0 9 * * * 同步用户订单至数据湖\n"
    [refused] = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", "-"], input=text))
    assert (refused["status"], refused["reason"]) == ("rejected", "invalid_schedule")
    assert "--cron-format seconds-first" in refused["question"]
    [taken] = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", "--cron-format", "seconds-first", "-"], input=text))
    assert taken["cron"] == "0 0 9 * * *"


def test_rejections_are_results_with_the_same_keys() -> None:
    result = runner.invoke(app, ["intent", "map", "--zone", "UTC", "-"], input="每天凌晨同步用户订单\n每日9点同步用户订单\n")
    rejected, mapped = lines(result)
    assert rejected.keys() == mapped.keys()
    assert {"quote", "status", "action", "entity", "target", "cron", "rrule", "zone", "reason"} <= rejected.keys()
    assert (rejected["status"], rejected["reason"], rejected["line"]) == ("rejected", "ambiguous_time", 1)


def test_preview_counts_from_the_time_that_is_given() -> None:
    arguments = ["intent", "map", "--zone", "Europe/Berlin", "--preview", "2", "--now", "2026-03-28T12:00:00Z", "-"]
    [line] = lines(runner.invoke(app, arguments, input="Sync orders every day at 02:30\n"))
    assert [fire["at"] for fire in line["next"]] == ["2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"]
    assert "does not exist" in line["next"][0]["note"]


def test_domain_folder_is_mapped_with_its_zone_and_glossary() -> None:
    found = lines(runner.invoke(app, ["intent", "map", str(ROOT / "examples" / "dataops")]))
    mapped = {line["intent"] for line in found if line["status"] == "mapped"}
    assert mapped == {
        "sync_orders", "sync_payments", "fetch_api_logs", "fetch_exchange_rates", "validate_inventory", "validate_invoices",
        "enrich_profiles", "enrich_addresses", "export_sales_report", "archive_clickstream",
    }  # fmt: skip
    assert sorted(line["reason"] for line in found if line["status"] == "rejected") == [
        "ambiguous_time",
        "ambiguous_time",
        "not_a_task",
    ]


def test_document_inside_a_domain_knows_its_glossary(tmp_path: Path) -> None:
    domain = shutil.copytree(ROOT / "examples" / "dataops", tmp_path / "dataops")
    document = domain / "requirements" / "more.txt"
    document.write_text("每日10点归档浏览记录至冷存储\n", encoding="utf-8")
    [line] = lines(runner.invoke(app, ["intent", "map", str(document)]))
    assert (line["target"], line["zone"]) == ("clickstream_cold_storage", "Asia/Shanghai")


def test_table_is_for_people(statements: Path) -> None:
    result = runner.invoke(app, ["intent", "map", "--zone", "UTC", "--table", str(statements)])
    assert result.exit_code == 0
    assert "api_logs" in result.stdout
    assert not result.stdout.startswith("{")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["none.md"], 2, "no such document"),
        (["--zone", "CST", "-"], 2, "ambiguous"),
        (["--now", "soon", "-"], 2, "ISO 8601"),
        (["--cron-format", "quartz", "-"], 2, "quartz"),
    ],
)
def test_usage_errors_are_clear(arguments: list[str], code: int, told: str) -> None:
    result = runner.invoke(app, ["intent", "map", *arguments], input="")
    assert result.exit_code == code
    assert told in result.stderr


def test_pipe_may_begin_with_a_byte_order_mark_and_must_be_utf8() -> None:
    [line] = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", "-"], input="\ufeff每日9点同步订单\n"))
    assert (line["status"], line["quote"]) == ("mapped", "每日9点同步订单")
    refused = runner.invoke(app, ["intent", "map", "--zone", "UTC", "-"], input="每日9点同步订单".encode("gbk"))
    assert refused.exit_code == 2
    assert "not UTF-8" in refused.stderr


def test_mapping_table_of_the_example_passes() -> None:
    result = runner.invoke(app, ["intent", "check", str(ROOT / "examples" / "dataops")])
    assert result.exit_code == 0, result.output
    assert "13 of 13 as expected" in result.stderr


def test_wrong_expectation_makes_the_check_fail(tmp_path: Path) -> None:
    domain = shutil.copytree(ROOT / "examples" / "dataops", tmp_path / "dataops")
    expected = domain / "expected.jsonl"
    expected.write_text(expected.read_text(encoding="utf-8").replace('"0 9 * * *"', '"0 10 * * *"'), encoding="utf-8")
    result = runner.invoke(app, ["intent", "check", str(domain), "--json"])
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["missed"], report["wrongly_accepted"]) == (1, 1)
    [missed] = [verdict for verdict in report["verdicts"] if verdict["missed"]]
    assert (missed["statement"], missed["missed"]) == ("每日9点同步用户订单至数据湖", ["schedule"])


def test_check_against_nothing_is_no_success(tmp_path: Path) -> None:
    domain = Path(shutil.copytree(ROOT / "examples" / "dataops", tmp_path / "dataops"))
    (domain / "expected.jsonl").write_text("\n", encoding="utf-8")
    result = runner.invoke(app, ["intent", "check", str(domain)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected.jsonl: holds no statement" in result.stderr


def test_help_shows_examples() -> None:
    assert "--preview 3" in runner.invoke(app, ["intent", "map", "--help"]).stdout


@pytest.fixture
def reading_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    """An endpoint that reads one statement, and settings that name it."""
    haul = {
        "action_words": "捎到",
        "action": "sync",
        "entity_words": "用户订单",
        "destination_words": "数据湖",
        "time_words": ["每日9点"],
    }
    with FakeModelServer(reply=lambda messages, model: json.dumps({"tasks": [haul]}, ensure_ascii=False)) as server:
        monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("KICKWHEEL_TEACHER__BASE_URL", server.url)
        monkeypatch.setenv("KICKWHEEL_TEACHER__MODEL", server.base_name)
        yield server


HAUL = "每日9点把用户订单捎到数据湖\n"


def test_model_s_reading_is_a_proposal_by_default_and_a_flagged_task_with_llm(reading_model: FakeModelServer) -> None:
    [proposed] = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", "-"], input=HAUL))
    assert (proposed["status"], proposed["reason"]) == ("rejected", "needs_review")
    assert proposed["proposal"]["statement"] == "每日9点同步用户订单至数据湖"
    [mapped] = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", "--recogniser", "llm", "-"], input=HAUL))
    assert (mapped["status"], mapped["target"], mapped["recognised_by"]) == ("mapped", "orders_datalake", "llm")
    assert "no rule confirms it" in mapped["flag"]
    [alone] = lines(runner.invoke(app, ["intent", "map", "--zone", "UTC", "--recogniser", "rules", "-"], input=HAUL))
    assert (alone["status"], alone["proposal"]) == ("rejected", None)
    assert len(reading_model.chats) == 1


def test_check_counts_a_suggestion_as_the_refusal_that_it_is(reading_model: FakeModelServer) -> None:
    result = runner.invoke(app, ["intent", "check", str(ROOT / "examples" / "dataops"), "--recogniser", "hybrid"])
    assert result.exit_code == 0, result.output


def test_llm_without_a_model_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KICKWHEEL_TEACHER__BASE_URL", raising=False)
    for command in (["map", "-"], ["check", str(ROOT / "examples" / "dataops")]):
        result = runner.invoke(app, ["intent", *command, "--recogniser", "llm"], input=HAUL)
        assert result.exit_code == 2
        assert "KICKWHEEL_TEACHER__BASE_URL" in result.stderr


def test_model_that_refuses_ends_the_command_with_the_way_out(reading_model: FakeModelServer) -> None:
    reading_model.failures.append(Failure(status=401))
    result = runner.invoke(app, ["intent", "map", "--zone", "UTC", "-"], input=HAUL)
    assert result.exit_code == 2
    assert "--recogniser rules" in result.stderr
