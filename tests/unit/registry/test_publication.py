"""Publishing: files that people can review, versions that mean something, all or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kickwheel.domain import check_domain, load_domain
from kickwheel.errors import InputError
from kickwheel.execution.execute import tasks_of
from kickwheel.registry.journal import JOURNAL
from kickwheel.registry.published import read_registry
from tests.unit.registry.conftest import World

PUBLISHED = """\
schema_version: '1'
version: 1.0.0
id: {id}
intent: sync_orders
action: sync
entity: 用户订单
target: orders_datalake
description: copy orders
phrasings:
- 补一下订单
slots:
- name: date
  type: date
- name: region
  type: name
  values:
  - 华东
- name: format
  type: enum
  values:
  - csv
  - pdf
schedule:
  cron: 0 9 * * *
  zone: Asia/Shanghai
sources:
- document: requirements/tasks.md
  quote: 每日9点同步用户订单至数据湖
"""


def test_task_is_a_file_that_people_can_read(world: World) -> None:
    [task] = [task for task in tasks_of(load_domain(world.folder)).tasks if task.intent == "sync_orders"]
    text = (world.folder / "registry" / "sync_orders.yaml").read_text(encoding="utf-8")
    assert text == PUBLISHED.format(id=task.id)


def test_publication_is_a_line_of_history(world: World) -> None:
    [release] = world.rows("registry/history.jsonl")
    assert (release["version"], release["date"], release["level"]) == ("1.0.0", "2026-11-29", "minor")
    assert [(task["intent"], task["version"]) for task in release["tasks"]] == [
        ("fetch_api_logs", "1.0.0"),
        ("sync_orders", "1.0.0"),
    ]


def test_publishing_twice_writes_nothing(world: World) -> None:
    before = world.files()
    diff = world.publish()
    assert (diff.next, diff.level, diff.tasks, diff.unchanged) == (None, None, (), 2)
    assert world.files() == before


def test_line_numbers_are_no_change(world: World) -> None:
    world.change(("- 每日9点", "Some words more.\n\n- 每日9点"))
    assert world.diff().next is None


def test_dry_run_writes_nothing(world: World) -> None:
    world.change(("每日9点", "每日10点"))
    before = world.files()
    assert world.publish(dry_run=True).next == "1.1.0"
    assert world.files() == before


def test_changed_task_alone_is_written(world: World) -> None:
    world.change(("每日9点", "每日10点"))
    before = world.files()
    world.publish()
    after = world.files()
    assert {name for name in after if after[name] != before.get(name)} == {
        "registry/sync_orders.yaml",
        "registry/history.jsonl",
    }
    registry = read_registry(world.folder)
    assert {task.intent: task.version for task in registry.tasks} == {"sync_orders": "1.1.0", "fetch_api_logs": "1.0.0"}
    assert registry.version == "1.1.0"
    assert world.diff().next is None


def test_mapping_knows_the_published_versions(world: World) -> None:
    world.change(("说明：copy orders", "说明：copy all orders"))
    world.publish()
    versions = {task.intent: task.version for task in tasks_of(load_domain(world.folder)).tasks}
    assert versions == {"sync_orders": "1.0.1", "fetch_api_logs": "1.0.0"}


def test_removed_task_loses_its_file_and_comes_back_with_a_higher_version(world: World) -> None:
    requirements = (world.folder / "requirements" / "tasks.md").read_text(encoding="utf-8")
    world.write(requirements[: requirements.index("- 每小时")])
    world.publish()
    assert not (world.folder / "registry" / "fetch_api_logs.yaml").exists()
    world.write(requirements)
    diff = world.publish()
    assert [(task.intent, task.published, task.next) for task in diff.tasks] == [("fetch_api_logs", None, "2.0.0")]
    assert [release["version"] for release in world.rows("registry/history.jsonl")] == ["1.0.0", "2.0.0", "2.1.0"]


def test_renamed_intent_moves_its_file(world: World) -> None:
    world.change(("sync_orders", "refresh_orders"))
    world.publish()
    assert {path.stem for path in (world.folder / "registry").glob("*.yaml")} == {"refresh_orders", "fetch_api_logs"}
    assert world.diff().next is None


@pytest.mark.parametrize("written", range(5))
def test_killed_publication_is_finished_by_the_next_one(world: World, written: int) -> None:
    world.change(("sync_orders", "refresh_orders"), ("每小时", "每半小时"))
    world.interrupt(World.publish, written)
    assert any("interrupted" in str(problem) for problem in check_domain(world.folder))
    with pytest.raises(InputError, match="interrupted"):
        world.publish(dry_run=True)
    world.publish()
    finished = world.files()
    assert world.diff().next is None
    assert [release["version"] for release in world.rows("registry/history.jsonl")] == ["1.0.0", "2.0.0"]
    assert not (world.folder / JOURNAL).exists()
    assert world.publish().next is None
    assert world.files() == finished


def test_file_edited_in_between_is_not_overwritten(world: World) -> None:
    world.change(("每日9点", "每日10点"))
    world.interrupt(World.publish, 0)
    path = world.folder / "registry" / "sync_orders.yaml"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="edited") as error:
        world.publish()
    assert error.value.file == path
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("sync_orders.yaml", "version: one\n", "pattern"),
        ("other.yaml", PUBLISHED.format(id="4fdd49c1-1a86-5b53-8a36-3f8a3e3e3f7a"), "expected 'other'"),
        ("history.jsonl", "{}\n", "required"),
    ],
)
def test_registry_that_does_not_hold_names_the_place(world: World, name: str, text: str, why: str) -> None:
    (world.folder / "registry" / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        world.diff()
    assert error.value.file == world.folder / "registry" / name
    found = [str(problem) for problem in check_domain(world.folder)]
    assert any(name in problem and why in problem for problem in found), found


def test_tasks_without_history_are_told(world: World) -> None:
    (world.folder / "registry" / "history.jsonl").unlink()
    with pytest.raises(InputError, match="is missing"):
        world.diff()


def test_bundled_example_is_published_as_it_stands(root: Path) -> None:
    world = World(root / "examples" / "dataops")
    diff = world.diff()
    assert [change for task in diff.tasks for change in task.changes] == []
    assert diff.published is not None
    assert json.loads(diff.model_dump_json())["next"] is None
