"""What stands beside a statement and bounds its task: the task is flagged, never scheduled as if it were not there."""

from __future__ import annotations

import pytest

from kickwheel.intent import load_glossary
from kickwheel.intent.documents import parse_document
from kickwheel.intent.mapping import map_documents
from kickwheel.intent.rules import RulesRecogniser
from schemas.task import TaskCatalog

READER = RulesRecogniser(load_glossary())


def mapped(text: str, *, markdown: bool = True) -> TaskCatalog:
    return map_documents(
        [parse_document(text, "doc.md", markdown=markdown)], domain="d", zone="UTC", recogniser=READER, min_interval_minutes=5
    )


@pytest.mark.parametrize(
    "text",
    [
        "每天9点同步订单到数仓。周末除外。",
        "每天9点同步订单到数仓。周末不同步。",
        "Sync orders to the warehouse every day at 9. Not on weekends.",
        "Sync orders to the warehouse every day at 9. Public holidays are skipped.",
        "Sync orders to the warehouse every day at 9. It has run for years. No runs on Sundays.",
        "- Sync orders to the warehouse every day at 9\n  - only on weekdays\n",
        "- 每天9点同步订单到数仓\n  - 数据来自商城\n  - 节假日顺延\n",
        "Sync orders to the warehouse every day at 9. Left out are:\n\n- Sundays, except in December\n",
    ],
)
def test_sentence_that_bounds_the_one_before_flags_its_task(text: str) -> None:
    catalog = mapped(text)
    [task] = catalog.tasks
    assert task.flag
    assert catalog.rejections[-1].source.quote in task.flag


@pytest.mark.parametrize(
    "text",
    [
        "每天9点同步订单到数仓。数据来自商城。",
        "每天9点同步订单到数仓。每天10点通知运维。",
        "Sync orders to the warehouse every day at 9. The team is not told.",
        "- Sync orders to the warehouse every day at 9\n- Not on weekends\n",
        "Sync orders to the warehouse every day at 9.\n\nNot on weekends.\n",
        "- 每天9点同步订单到数仓\n  - 意图：sync_orders\n  - 说明：not on weekends\n",
    ],
)
def test_what_is_about_something_else_flags_nothing(text: str) -> None:
    assert [task.flag for task in mapped(text).tasks] == [None]


@pytest.mark.parametrize("cell", ["周末不执行", "weekdays only", "除节假日", "from 10:00", "Berlin time", "仅工作日"])
def test_cell_that_no_column_name_explains_and_that_may_bound_the_row_flags_its_task(cell: str) -> None:
    [task] = mapped(f"| 需求 | 频率 | 备注 |\n|---|---|---|\n| 校验库存 | 每天8点 | {cell} |\n").tasks
    assert task.flag == f"its row says {cell!r} too, which is not read"


@pytest.mark.parametrize("cell", ["", "数据平台组", "high", "约2万行", "last month's rows"])
def test_other_cells_flag_nothing(cell: str) -> None:
    [task] = mapped(f"| 需求 | 频率 | 备注 |\n|---|---|---|\n| 校验库存 | 每天8点 | {cell} |\n").tasks
    assert task.flag is None


def test_flag_of_an_unknown_name_stays_beside_it() -> None:
    [task] = mapped("每天9点同步装订单到数仓。周末除外。").tasks
    assert task.flag is not None
    assert task.flag.startswith("unknown entity '装订单'")
    assert task.flag.endswith("line 1 says '周末除外' about it, which is not read")


def test_plain_text_knows_what_is_indented() -> None:
    assert mapped("每天9点同步订单到数仓\n  周末除外\n", markdown=False).tasks[0].flag
    assert mapped("每天9点同步订单到数仓\n周末除外\n", markdown=False).tasks[0].flag is None
