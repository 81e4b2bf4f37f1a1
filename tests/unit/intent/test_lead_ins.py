"""What stands above statements and holds for all of them."""

from __future__ import annotations

import pytest

from kickwheel.errors import InputError
from kickwheel.intent.documents import parse_document
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.lead_ins import time_of_lead_in, zone_of_all
from kickwheel.intent.mapping import map_documents
from kickwheel.intent.rules import RulesRecogniser
from schemas.task import Rejection, TaskSchema

RULES = RulesRecogniser(load_glossary())


def read(text: str, *, markdown: bool = True) -> dict[str, str]:
    """Schedule and zone of each task by its intent, or the reason of each rejection by its quote."""
    catalog = map_documents([parse_document(text, "doc", markdown=markdown)], domain="d", zone="UTC", recogniser=RULES)
    return {_name(found): _told(found) for found in (*catalog.tasks, *catalog.rejections)}


def _name(found: TaskSchema | Rejection) -> str:
    return found.intent if isinstance(found, TaskSchema) else found.source.quote


def _told(found: TaskSchema | Rejection) -> str:
    if isinstance(found, Rejection):
        return found.reason
    return f"{found.schedule.cron} {found.schedule.zone}" if found.schedule else ""


@pytest.mark.parametrize("markdown", [True, False])
def test_a_time_over_a_list_holds_for_its_items_only(markdown: bool) -> None:
    text = "每日9点：\n\n- 同步订单至数据湖\n- 校验库存\n\n归档日志\n"
    assert read(text, markdown=markdown) == {
        "sync_orders_datalake": "0 9 * * * UTC",
        "validate_inventory": "0 9 * * * UTC",
        "archive_logs": "",
    }


def test_a_statement_that_says_otherwise_is_a_question() -> None:
    assert read("Every day at 9:00:\n\n- check payments at 10:00\n") == {"check payments at 10:00": "contradiction"}


def test_a_heading_with_a_clock_time_holds_until_the_next_of_its_level() -> None:
    text = (
        "# Nightly jobs\n\n## Every Monday at 8:00\n\nFetch invoices.\n\n### Notes\n\nCheck refunds.\n\n"
        "## Monthly\n\nArchive logs.\n"
    )
    assert read(text) == {"fetch_invoices": "0 8 * * 1 UTC", "validate_refunds": "0 8 * * 1 UTC", "archive_logs": ""}


@pytest.mark.parametrize(
    "text", ["Please do this every day at 9:00:", "Orders at 9:00:", "每天9点同步：", "The following:", "9点前：订单"]
)
def test_a_line_that_says_more_than_a_time_is_no_lead_in(text: str) -> None:
    assert time_of_lead_in(text) is None


@pytest.mark.parametrize(
    ("sentence", "zone"),
    [
        ("All times are Berlin time", "Europe/Berlin"),
        ("All times below are in UTC", "UTC"),
        ("All times are in Asia/Tokyo", "Asia/Tokyo"),
        ("以下时间均为东京时间", "Asia/Tokyo"),
        ("文中时间均以北京时间为准", "Asia/Shanghai"),
        ("All times are CST", None),
        ("All times are approximate", None),
        ("Sync orders every day at 9:00 Berlin time", None),
    ],
)
def test_a_zone_for_all(sentence: str, zone: str | None) -> None:
    assert zone_of_all(sentence) == zone


def test_the_zone_for_all_counts_wherever_it_stands_and_is_no_statement() -> None:
    text = "Fetch orders daily at 9:00.\n\nAll times are Berlin time.\n"
    assert read(text) == {"fetch_orders": "0 9 * * * Europe/Berlin"}


def test_two_zones_for_all_are_an_error_with_its_line() -> None:
    with pytest.raises(InputError, match="which of the zones counts") as error:
        parse_document("---\nzone: UTC\n---\nFetch orders.\n\nAll times are Berlin time.\n", "doc", markdown=True)
    assert error.value.line == 6
