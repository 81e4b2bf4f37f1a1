"""Documents become a catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.intent import load_glossary, map_requirements
from schemas.task import Schedule, TaskCatalog, TaskSchema


def mapped(folder: Path, text: str, *, zone: str | None = "UTC", minimum: int = 5) -> TaskCatalog:
    path = folder / "doc.md"
    path.write_text(text, encoding="utf-8")
    return map_requirements([path], domain="d", zone=zone, glossary=load_glossary(), min_interval_minutes=minimum)


def only(catalog: TaskCatalog) -> TaskSchema:
    assert catalog.rejections == ()
    [task] = catalog.tasks
    return task


def reasons(catalog: TaskCatalog) -> list[str]:
    return [rejection.reason for rejection in catalog.rejections]


def test_task_keeps_its_place_and_says_how_users_ask_for_it(tmp_path: Path) -> None:
    task = only(
        mapped(tmp_path, "# T\n\n- 每日9点同步用户订单至数据湖\n  - 意图：sync_orders\n  - 说明：copy orders\n  - 槽位：date\n")
    )
    assert (task.intent, task.action, task.target, task.entity) == ("sync_orders", "sync", "orders_datalake", "用户订单")
    assert (task.description, [slot.name for slot in task.slots]) == ("copy orders", ["date"])
    assert task.schedule == Schedule(cron="0 9 * * *", zone="UTC")
    [source] = task.provenance
    assert (Path(source.document).name, source.line, source.quote) == ("doc.md", 3, "每日9点同步用户订单至数据湖")


def test_task_keeps_phrasings_and_patterns(tmp_path: Path) -> None:
    text = "- 校验库存\n  - 说法：“查一下 SKU-1 的库存”；“stock of SKU-2?”\n  - 槽位：sku（编码，模式 [A-Z]{3}-\\d+）\n"
    task = only(mapped(tmp_path, text))
    assert task.phrasings == ("查一下 SKU-1 的库存", "stock of SKU-2?")
    assert [(slot.name, slot.pattern) for slot in task.slots] == [("sku", r"[A-Z]{3}-\d+")]


def test_zone_of_the_statement_and_one_beside_it_contradict(tmp_path: Path) -> None:
    text = "- 每日北京时间9点同步用户订单\n  - 时区：Europe/Berlin\n"
    catalog = mapped(tmp_path, text)
    assert (catalog.tasks, reasons(catalog)) == ((), ["contradiction"])
    assert "Asia/Shanghai" in catalog.rejections[0].question
    assert only(mapped(tmp_path, text.replace("Europe/Berlin", "Asia/Shanghai"))).schedule


def test_intent_is_action_and_target_where_none_is_named(tmp_path: Path) -> None:
    task = only(mapped(tmp_path, "每日9点同步用户订单至数据湖"))
    assert (task.intent, task.description) == ("sync_orders_datalake", "每日9点同步用户订单至数据湖")


def test_id_survives_a_changed_wording_and_time_but_not_a_changed_target(tmp_path: Path) -> None:
    first = only(mapped(tmp_path, "每日9点同步用户订单至数据湖")).id
    assert only(mapped(tmp_path, "Sync customer orders to the data lake every hour")).id == first
    assert only(mapped(tmp_path, "Sync customer orders to the data warehouse every hour")).id != first


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("每日9点同步用户订单（纽约时间）", "America/New_York"),
        ("每日9点同步用户订单\n\n时区：Asia/Tokyo", "Asia/Tokyo"),
        ("每日9点同步用户订单", "Europe/Berlin"),
    ],
)
def test_zone_of_the_statement_counts_before_its_line_before_the_document_s(tmp_path: Path, text: str, zone: str) -> None:
    task = only(mapped(tmp_path, f"---\nzone: Europe/Berlin\n---\n{text}\n", zone="UTC"))
    assert task.schedule is not None
    assert task.schedule.zone == zone


def test_time_without_any_zone_is_a_question(tmp_path: Path) -> None:
    """zenml-io/zenml 2209: the zone is never the host's."""
    assert reasons(mapped(tmp_path, "每日9点同步用户订单", zone=None)) == ["ambiguous_zone"]
    assert only(mapped(tmp_path, "同步用户订单", zone=None)).schedule is None, "no time, no zone needed"


def test_time_may_stand_on_a_line_of_its_own(tmp_path: Path) -> None:
    task = only(mapped(tmp_path, "- 同步用户订单至数据湖\n  - 频率：每小时\n"))
    assert task.schedule == Schedule(cron="0 * * * *", zone="UTC")


def test_limit_on_frequency_is_a_parameter(tmp_path: Path) -> None:
    assert reasons(mapped(tmp_path, "每5分钟拉取API日志", minimum=10)) == ["invalid_schedule"]
    assert only(mapped(tmp_path, "每5分钟拉取API日志", minimum=5)).schedule is not None


def test_statement_that_says_the_same_again_is_a_duplicate(tmp_path: Path) -> None:
    catalog = mapped(tmp_path, "同步用户订单。每日9点同步用户订单。Sync customer orders every day at 9:00.")
    assert [task.schedule for task in catalog.tasks] == [Schedule(cron="0 9 * * *", zone="UTC")]
    assert reasons(catalog) == ["duplicate", "duplicate"]


def test_statements_that_contradict_each_other_are_all_rejected(tmp_path: Path) -> None:
    catalog = mapped(tmp_path, "每日9点同步用户订单。\n\n每日10点同步用户订单。")
    assert (catalog.tasks, reasons(catalog)) == ((), ["contradiction", "contradiction"])
    assert "doc.md:1 和" in catalog.rejections[0].question


def test_qualifier_tells_tasks_of_one_target_apart(tmp_path: Path) -> None:
    text = "每日9点同步用户订单\n限定：华东\n意图：sync_east\n\n每日10点同步用户订单\n限定：华南\n意图：sync_south\n"
    assert [task.intent for task in mapped(tmp_path, text).tasks] == ["sync_east", "sync_south"]


def test_unknown_entity_is_a_task_without_target(tmp_path: Path) -> None:
    task = only(mapped(tmp_path, "每日9点同步会员积分至数据湖"))
    assert (task.entity, task.target) == ("会员积分", None)
    assert task.flag is not None
    assert task.intent.startswith("sync_unknown_")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("同步用户订单\n意图：Sync Orders\n", 2, "no name for an intent"),
        ("同步用户订单\n意图：a_b\n\n校验库存\n意图：a_b\n", 4, "already names"),
        ("同步用户订单和库存\n意图：a_b\n", 1, "2 tasks"),
        ("同步用户订单\n槽位：日期\n", 2, "lower-case"),
        ("同步用户订单\n\n说法：；\n", 3, "no phrasing"),
        ("同步用户订单和库存\n说法：再来\n", 1, "2 tasks"),
        ("校验库存\n槽位：sku（编码，模式 [A-Z）\n", 2, "no regular expression"),
    ],
)
def test_line_that_does_not_hold_is_an_error_with_its_place(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(InputError, match=why) as error:
        mapped(tmp_path, text)
    assert error.value.line == line
