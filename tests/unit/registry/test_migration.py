"""Labels that follow their intents: rewritten in place, set aside where nobody can decide, never lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kickwheel.domain import check_domain, load_domain
from kickwheel.errors import InputError
from kickwheel.registry.labels import label_files
from kickwheel.yaml_document import YamlProblems
from tests.unit.registry.conftest import REQUIREMENTS, World
from tests.unit.registry.test_changes import label

RENAME = "rename: {sync_orders: refresh_orders}\n"
SPLIT_REQUIREMENTS = """\
---
zone: UTC
---

- 每日9点同步用户订单至数据湖
  - 意图：sync_recent
  - 限定：近期
  - 槽位：date；area（名称）
- 每周一9点同步用户订单至数据湖
  - 意图：sync_region
  - 限定：大区
  - 槽位：area（名称）
- 每小时拉取API日志
  - 意图：fetch_api_logs
  - 槽位：service（名称，例如 checkout-api）
"""
SPLIT = """\
split:
  sync_orders:
  - {into: sync_recent, when: {slot: date}}
  - {into: sync_region, when: {slot: region, values: [emea, 日本]}}
rename_slots:
  sync_orders: {region: area}
"""
REVIEW = "registry/migration-review.jsonl"


def intents(world: World, name: str) -> list[str]:
    return [row["frame"]["intent"] for row in world.rows(name) if row.get("frame")]


def labelled_rows(world: World) -> int:
    """Rows of all files of labels and of the review file."""
    files = [path.name for _, path in label_files(load_domain(world.folder))]
    return sum(len(world.rows(name)) for name in (*files, REVIEW) if (world.folder / name).is_file())


def test_renamed_intent_takes_its_labels_along(world: World) -> None:
    world.change(("sync_orders", "refresh_orders"))
    report = world.migrate(RENAME)
    assert intents(world, "seeds.jsonl")[:4] == ["refresh_orders"] * 3 + ["fetch_api_logs"]
    assert {file.split: (file.changed, dict(file.moves)) for file in report.files if file.changed} == {
        "seeds": (3, {"sync_orders -> refresh_orders": 3}),
        "valid": (1, {"sync_orders -> refresh_orders": 1}),
        "eval": (1, {"sync_orders -> refresh_orders": 1}),
    }
    assert (report.written, report.waiting) == (True, 0)
    assert "of 3 evaluation rows 1 get another label (sync_orders -> refresh_orders: 1)" in report.eval_note
    assert check_domain(world.folder) == []


def test_running_it_twice_changes_nothing(world: World) -> None:
    world.change(("sync_orders", "refresh_orders"))
    world.migrate(RENAME)
    before = world.files()
    report = world.migrate(RENAME)
    assert (report.written, report.eval_note) == (False, "no evaluation row changes")
    assert world.files() == before


def test_dry_run_tells_the_same_and_writes_nothing(world: World) -> None:
    world.change(("sync_orders", "refresh_orders"))
    (world.folder / "migration.yaml").write_text(RENAME, encoding="utf-8")
    before = world.files()
    foretold = world.migrate(RENAME, dry_run=True)
    assert world.files() == before
    done = world.migrate(RENAME)
    assert foretold.model_copy(update={"written": True}) == done


def test_old_files_are_kept_under_their_hash(world: World) -> None:
    before = (world.folder / "seeds.jsonl").read_bytes()
    world.change(("sync_orders", "refresh_orders"))
    report = world.migrate(RENAME)
    [seeds] = [file for file in report.files if file.split == "seeds"]
    assert seeds.backup is not None
    assert (world.folder / seeds.backup).read_bytes() == before


def test_order_blank_lines_spacing_and_unknown_fields_survive(world: World) -> None:
    path = world.folder / "seeds.jsonl"
    rows = [
        '{"id": "a", "text": "补订单", "language": "zh", "frame": {"intent": "sync_orders", "note": 1}, "by": "李雷 😀"}',
        "",
        '{"id":"b","text":"logs","language":"en","frame":{"intent":"fetch_api_logs","slots":[]},"x":1.0}',
        '{"id":"c","text":"东","language":"zh","frame":{"intent":"sync_orders","slots":'
        '[{"end":1,"start":0,"value":"东","name":"region","score":0.5}]}}\r',
    ]
    path.write_bytes("\n".join(rows).encode() + b"\n")
    world.change(("sync_orders", "refresh_orders"), ("region", "area"))
    text = RENAME + "rename_slots: {sync_orders: {region: area}}\n"
    world.migrate(text)
    rows[0] = rows[0].replace("sync_orders", "refresh_orders")
    rows[3] = rows[3].replace("sync_orders", "refresh_orders").replace("region", "area")
    assert path.read_bytes() == "\n".join(rows).encode() + b"\n"


def test_merged_intents_lose_what_the_new_one_has_not(world: World) -> None:
    world.add("seeds.jsonl", label("s-1", "昨天的订单", "sync_orders", date="昨天"))
    world.write(
        REQUIREMENTS.replace("date；region（名称，例如 华东）；format（枚举：csv，pdf）", "region（名称）；service（名称）")
    )
    world.change(
        ("sync_orders", "move_data"), ("- 每小时拉取API日志\n  - 意图：fetch_api_logs\n", "- 每小时校验库存\n  - 意图：check\n")
    )
    merge = "merge: {move_data: [sync_orders, fetch_api_logs]}\n"
    report = world.migrate(merge, dry_run=True)
    assert {file.split: file.set_aside for file in report.files if file.set_aside} == {"seeds": 3, "eval": 1}
    world.migrate(merge + "drop_slots: {sync_orders: [date]}\n")
    assert intents(world, "seeds.jsonl") == ["move_data"] * 6 + ["out_of_scope"] * 2 + ["move_data"]
    assert [slot["name"] for row in world.rows("seeds.jsonl") for slot in row["frame"].get("slots", ())] == [
        "region",
        "service",
        "service",
    ]
    assert check_domain(world.folder) == []


def test_intent_may_take_another_one_in(world: World) -> None:
    world.change(("- 每小时拉取API日志\n  - 意图：fetch_api_logs\n  - 槽位：service（名称，例如 checkout-api）\n", ""))
    world.change(("date；", "date；service（名称）；"))
    merge = "merge: {sync_orders: [sync_orders, fetch_api_logs]}\n"
    world.migrate(merge)
    assert intents(world, "seeds.jsonl") == ["sync_orders"] * 6 + ["out_of_scope"] * 2
    before = world.files()
    assert not world.migrate(merge).written
    assert world.files() == before


def test_split_goes_by_slots_and_what_nothing_decides_is_set_aside(world: World) -> None:
    world.add(
        "seeds.jsonl",
        label("s-1", "订单，不限", "sync_orders"),
        label("s-2", "日本昨天的订单", "sync_orders", region="日本", date="昨天"),
    )
    count = labelled_rows(world)
    world.write(SPLIT_REQUIREMENTS)
    report = world.migrate(SPLIT)
    by_id = {row["id"]: row["frame"]["intent"] for row in world.rows("seeds.jsonl")}
    assert (by_id["seeds-0001"], by_id["seeds-0002"], by_id["seeds-0003"]) == ("sync_recent", "sync_region", "sync_recent")
    waiting = world.rows(REVIEW)
    assert [(row["id"], row["split"], row["candidates"]) for row in waiting] == [
        ("s-1", "seeds", ["sync_recent", "sync_region"]),
        ("s-2", "seeds", ["sync_recent", "sync_region"]),
        ("valid-0001", "valid", ["sync_recent", "sync_region"]),
    ]
    assert waiting[1]["row"]["text"] == "日本昨天的订单"
    assert report.waiting == 3
    assert labelled_rows(world) == count, "no row is lost"


def test_rows_that_were_set_aside_come_back_to_their_place(world: World) -> None:
    world.add("seeds.jsonl", label("s-1", "订单，不限", "sync_orders"), label("s-9", "what is for lunch", "out_of_scope"))
    world.write(SPLIT_REQUIREMENTS)
    order = [row["id"] for row in world.rows("seeds.jsonl")]
    world.migrate(SPLIT)
    assert [row["id"] for row in world.rows(REVIEW)] == ["s-1", "valid-0001"]
    decided = SPLIT.replace("{into: sync_region,", "{into: sync_region, rows: [s-1, valid-0001],")
    report = world.migrate(decided)
    assert (report.waiting, (world.folder / REVIEW).exists()) == (0, False)
    assert [row["id"] for row in world.rows("seeds.jsonl")] == order
    assert {row["id"]: row["frame"]["intent"] for row in world.rows("seeds.jsonl")}["s-1"] == "sync_region"
    assert check_domain(world.folder) == []
    before = world.files()
    assert not world.migrate(decided).written
    assert world.files() == before


def test_part_without_condition_takes_the_rest(world: World) -> None:
    world.write(SPLIT_REQUIREMENTS)
    rest = "split: {sync_orders: [{into: sync_recent, when: {slot: date}}, {into: sync_region}]}\n"
    world.migrate(rest + "rename_slots: {sync_orders: {region: area}}\n")
    assert intents(world, "seeds.jsonl")[:3] == ["sync_recent", "sync_region", "sync_recent"]
    assert intents(world, "valid.jsonl")[0] == "sync_region"


def test_absence_of_a_slot_is_a_condition(world: World) -> None:
    world.write(SPLIT_REQUIREMENTS)
    parts = "[{into: sync_recent, when: {slot: region, present: false}}, {into: sync_region, when: {slot: region}}]"
    world.migrate(f"split: {{sync_orders: {parts}}}\nrename_slots: {{sync_orders: {{region: area}}}}\n")
    assert intents(world, "seeds.jsonl")[:3] == ["sync_recent", "sync_region", "sync_recent"]


def test_intent_may_be_split_off_itself(world: World) -> None:
    world.write(SPLIT_REQUIREMENTS.replace("sync_recent", "sync_orders").replace("area", "region"))
    off = "split: {sync_orders: [{into: sync_region, when: {slot: region}}, {into: sync_orders}]}\n"
    world.migrate(off)
    assert intents(world, "seeds.jsonl")[:3] == ["sync_orders", "sync_region", "sync_orders"]
    before = world.files()
    assert not world.migrate(off).written
    assert world.files() == before


def test_slots_alone_may_change(world: World) -> None:
    world.change(("region", "area"))
    text = "rename_slots: {sync_orders: {region: area}}\n"
    report = world.migrate(text)
    assert sum(file.changed for file in report.files) == 2
    assert check_domain(world.folder) == []
    assert not world.migrate(text).written


def test_value_that_the_new_slot_does_not_take_is_set_aside(world: World) -> None:
    world.add("seeds.jsonl", label("s-1", "EMEA 2 的订单", "sync_orders", region="EMEA 2"))
    world.change(("sync_orders", "refresh_orders"), ("region（名称，例如 华东", "region（名称，模式 \\D+，例如 华东"))
    world.migrate(RENAME)
    [row] = world.rows(REVIEW)
    assert (row["id"], row["candidates"]) == ("s-1", ["refresh_orders"])
    assert r"'EMEA 2' does not match its pattern \D+" in row["reason"]


def test_feedback_follows(world: World) -> None:
    behaviour = {"dwell_s": 1, "scroll": 1}
    case = {"id": "fb-1", "user": "u", "text": "补订单", "wanted": {"intent": "sync_orders"}}
    world.add("feedback.jsonl", json.dumps({**case, "when_right": behaviour, "when_wrong": behaviour}, ensure_ascii=False))
    world.change(("sync_orders", "refresh_orders"))
    world.migrate(RENAME)
    assert world.rows("feedback.jsonl")[0]["wanted"] == {"intent": "refresh_orders"}


@pytest.mark.parametrize("written", range(5))
def test_killed_migration_is_finished_by_the_next_one(world: World, written: int) -> None:
    world.add("seeds.jsonl", label("s-1", "订单，不限", "sync_orders"))
    world.write(SPLIT_REQUIREMENTS)
    rows = labelled_rows(world)
    (world.folder / "migration.yaml").write_text(SPLIT, encoding="utf-8")
    world.interrupt(lambda other: other.migrate(SPLIT), written)
    assert any("interrupted" in str(problem) for problem in check_domain(world.folder))
    report = world.migrate(SPLIT)
    assert (report.resumed, report.written) == (True, False)
    assert labelled_rows(world) == rows
    finished = world.files()
    assert not world.migrate(SPLIT).resumed
    assert world.files() == finished


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("", "rename", "moves nothing"),
        ("renamed: {}\n", "renamed", "Extra inputs"),
        ("rename: {sync_orders: [a]}\n", "rename.sync_orders", "valid string"),
        ("rename: {sync_orders: nowhere}\n", "sync_orders", "no intent 'nowhere'"),
        ("rename: {a: sync_recent}\nsplit: {a: [{into: sync_region}]}\n", "a", "two fates"),
        ("merge: {sync_recent: [a, a]}\n", "a", "two fates"),
        ("rename: {a: sync_recent, sync_recent: sync_region}\n", "a", "goes on to another"),
        ("merge: {sync_recent: [sync_recent, a]}\ndrop_slots: {sync_recent: [x]}\n", "a", "goes on to another"),
        ("rename: {out_of_scope: sync_recent}\n", "out_of_scope", "no task"),
        ("split: {a: [{into: sync_recent}, {into: sync_region}]}\n", "split.a", "two parts take the rest"),
        ("split: {a: [{into: sync_recent, rows: [x]}, {into: sync_region, rows: [x]}]}\n", "split.a", "row 'x'"),
        ("rename: {a: sync_recent}\nrename_slots: {a: {x: y, y: z}}\n", "rename_slots.a", "renamed itself"),
        (
            "split: {sync_recent: [{into: sync_region, when: {slot: area}}, {into: sync_recent}]}\n"
            "drop_slots: {sync_recent: [area]}\n",
            "split.sync_recent",
            "decide anew",
        ),
    ],
)
def test_map_that_does_not_hold_is_refused_whole(world: World, text: str, field: str, why: str) -> None:
    world.write(SPLIT_REQUIREMENTS)
    (world.folder / "migration.yaml").write_text(text, encoding="utf-8")
    before = world.files()
    with pytest.raises(YamlProblems) as error:
        world.migrate(text)
    found = {problem.field: str(problem) for problem in error.value.problems}
    assert why in found[field]
    assert all(Path(str(problem.file)).name == "migration.yaml" for problem in error.value.problems)
    assert world.files() == before


def test_torn_file_of_labels_stops_everything(world: World) -> None:
    world.change(("sync_orders", "refresh_orders"))
    world.add("valid.jsonl", "{torn")
    before = world.files()
    with pytest.raises(InputError, match="no labelled row") as error:
        world.migrate(RENAME)
    assert (error.value.file, error.value.line) == (world.folder / "valid.jsonl", 4)
    assert {name: data for name, data in world.files().items() if name != "migration.yaml"} == before
