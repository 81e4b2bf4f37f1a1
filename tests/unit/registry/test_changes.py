"""Every row of the level table, the versions that it leads to, and what it touches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kickwheel.registry.changes import in_words
from kickwheel.registry.versions import LEVELS, bumped, highest
from schemas.registry import CatalogueDiff, TaskDiff
from tests.unit.registry.conftest import World

ROOT = Path(__file__).resolve().parents[3]


def only(diff: CatalogueDiff) -> TaskDiff:
    [task] = diff.tasks
    return task


def label(identifier: str, text: str, intent: str, **slots: str) -> str:
    placed = [
        {"name": name, "value": value, "start": text.index(value), "end": text.index(value) + len(value)}
        for name, value in slots.items()
    ]
    language = "zh" if any("㐀" <= char <= "鿿" for char in text) else "en"
    frame = {"intent": intent, "slots": placed}
    return json.dumps({"id": identifier, "text": text, "language": language, "frame": frame}, ensure_ascii=False)


ONE_SLOT_LESS = ("date；region（名称，例如 华东）；", "date；")


@pytest.mark.parametrize(
    ("edits", "kinds", "version"),
    [
        ([("sync_orders", "refresh_orders")], ["intent_renamed"], "2.0.0"),
        ([("用户订单至数据湖", "支付流水至数据湖")], ["task_replaced", "wording_changed"], "2.0.0"),
        ([ONE_SLOT_LESS], ["slot_removed region"], "2.0.0"),
        ([("region（名称", "region（文本")], ["slot_type_changed region"], "2.0.0"),
        ([("csv，pdf", "csv")], ["values_narrowed format"], "2.0.0"),
        ([("csv，pdf", "csv，xlsx")], ["values_narrowed format"], "2.0.0"),
        ([("region（名称", "region（名称，模式 \\D+")], ["pattern_changed region"], "2.0.0"),
        ([("date；region", "date；note；region")], ["slot_added note"], "1.1.0"),
        ([("csv，pdf", "csv，pdf，xlsx")], ["values_widened format"], "1.1.0"),
        ([("每日9点", "每日10点")], ["schedule_changed", "wording_changed"], "1.1.0"),
        ([("数据湖\n", "数据湖（柏林时间）\n")], ["schedule_changed", "wording_changed"], "1.1.0"),
        ([("csv，pdf）\n", "csv，pdf）\n  - 周末除外\n")], ["flag_raised"], "1.1.0"),
        ([("copy orders", "copy all orders")], ["wording_changed"], "1.0.1"),
        ([("每日9点同步", "每日9点请同步")], ["wording_changed"], "1.0.1"),
        ([("“补一下订单”", "“补一下订单”；“再来”")], ["phrasings_changed"], "1.0.1"),
        ([("例如 华东", "大区，例如 华东、EMEA")], ["slot_wording_changed region"], "1.0.1"),
        ([("csv，pdf", "pdf，csv")], ["slot_wording_changed format"], "1.0.1"),
        ([("date；region（名称，例如 华东）", "region（名称，例如 华东）；date")], ["slot_wording_changed"], "1.0.1"),
    ],
)
def test_each_change_has_its_level(world: World, edits: list[tuple[str, str]], kinds: list[str], version: str) -> None:
    world.change(*edits)
    diff = world.diff()
    task = only(diff)
    assert list(dict.fromkeys(in_words(change).partition(":")[0] for change in task.changes)) == kinds
    assert (task.published, task.next, diff.next, diff.unchanged) == ("1.0.0", version, version, 1)
    assert task.level == highest(LEVELS[change.kind] for change in task.changes)


def test_dropped_pattern_widens(world: World) -> None:
    world.change(("region（名称", "region（名称，模式 \\D+"))
    world.publish()
    world.change(("，模式 \\D+", ""))
    assert [(change.kind, change.before) for change in only(world.diff()).changes] == [("pattern_dropped", r"\D+")]
    assert world.diff().next == "2.1.0"


def test_new_and_removed_tasks(world: World) -> None:
    world.change(("- 每小时拉取API日志", "- 每小时校验库存"), ("fetch_api_logs", "check_stock"))
    diff = world.diff()
    assert [(task.intent, task.published, task.next, task.level) for task in diff.tasks] == [
        ("check_stock", None, "1.0.0", "minor"),
        ("fetch_api_logs", "1.0.0", None, "major"),
    ]
    assert (diff.next, diff.unchanged) == ("2.0.0", 1)
    assert diff.impact.deployments == ("check_stock", "fetch_api_logs")


def test_word_that_the_glossary_learns_makes_a_task_deployable(world: World) -> None:
    world.change(("- 每小时拉取API日志\n  - 意图：fetch_api_logs", "- 每小时拉取会员积分\n  - 意图：fetch_points"))
    world.publish()
    assert "fetch_points" not in world.diff().impact.deployments
    (world.folder / "glossary.yaml").write_text("entities: {points: [会员积分], orders: [用户订单]}\n", encoding="utf-8")
    diff = world.diff()
    assert [(change.kind, change.level) for change in only(diff).changes] == [("target_found", "minor")]
    assert diff.impact.deployments == ("fetch_points",)


def test_rows_of_a_renamed_intent_are_touched_in_every_file(world: World) -> None:
    case = {"id": "fb-1", "user": "u", "text": "补订单", "wanted": {"intent": "sync_orders"}}
    behaviour = {"dwell_s": 1, "scroll": 1}
    world.add("feedback.jsonl", json.dumps({**case, "when_right": behaviour, "when_wrong": behaviour}, ensure_ascii=False))
    world.add("review.jsonl", label("pool-0001", "can you re-run the order load for monday", "sync_orders", date="monday"))
    world.change(("sync_orders", "refresh_orders"))
    diff = world.diff()
    assert (only(diff).previous_intent, only(diff).intent) == ("sync_orders", "refresh_orders")
    impact = diff.impact
    assert [(rows.split, rows.file, rows.rows, rows.ids) for rows in impact.rows] == [
        ("seeds", "seeds.jsonl", 3, ("seeds-0001", "seeds-0002", "seeds-0003")),
        ("valid", "valid.jsonl", 1, ("valid-0001",)),
        ("review", "review.jsonl", 1, ("pool-0001",)),
    ]
    assert impact.evaluation is not None
    assert impact.evaluation.ids == ("eval-0001",)
    assert impact.feedback is not None
    assert impact.feedback.ids == ("fb-1",)
    assert impact.deployments == ("sync_orders", "refresh_orders")


def test_rows_of_a_removed_slot_are_the_ones_that_have_it(world: World) -> None:
    world.change(ONE_SLOT_LESS)
    impact = world.diff().impact
    assert impact.slots == ("sync_orders.region",)
    assert [rows.ids for rows in impact.rows] == [("seeds-0002",), ("valid-0001",)]
    assert impact.evaluation is None
    assert impact.deployments == ()


def test_rows_of_a_narrowed_slot_are_the_ones_that_break_it(world: World) -> None:
    world.add(
        "seeds.jsonl",
        label("s-1", "orders as csv", "sync_orders", format="csv"),
        label("s-2", "订单导成 ＰＤＦ", "sync_orders", format="ＰＤＦ"),
    )
    world.change(("csv，pdf", "csv"))
    assert [rows.ids for rows in world.diff().impact.rows] == [("s-2",)]


def test_words_and_times_touch_no_rows(world: World) -> None:
    world.change(("copy orders", "copy all orders"), ("每日9点", "每日10点"))
    impact = world.diff().impact
    assert (impact.rows, impact.evaluation, impact.feedback) == ((), None, None)
    assert impact.deployments == ("sync_orders",)


def test_catalogue_takes_the_highest_level(world: World) -> None:
    world.change(("copy orders", "copy all orders"), ("每小时", "每半小时"))
    diff = world.diff()
    assert [(task.intent, task.next) for task in diff.tasks] == [("fetch_api_logs", "1.1.0"), ("sync_orders", "1.0.1")]
    assert (diff.level, diff.next) == ("minor", "1.1.0")


@pytest.mark.parametrize(("level", "version"), [("major", "2.0.0"), ("minor", "1.10.0"), ("patch", "1.9.8")])
def test_versions_are_numbers_and_no_text(level: str, version: str) -> None:
    assert bumped("1.9.7", level) == version  # type: ignore[arg-type]


def test_documented_table_is_the_one_that_counts() -> None:
    lines = (ROOT / "docs" / "registry.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    assert {row[0]: row[1] for row in rows} == dict(LEVELS)
