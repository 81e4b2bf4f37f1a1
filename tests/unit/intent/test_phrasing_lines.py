"""Phrasings as analysts write them."""

from __future__ import annotations

import pytest

from kickwheel.errors import InputError
from kickwheel.intent.documents import Field, parse_document
from kickwheel.intent.phrasing_lines import read_phrasings


def read(text: str) -> tuple[str, ...]:
    return read_phrasings(Field(text, 7), "doc.md")


@pytest.mark.parametrize(
    ("text", "phrasings"),
    [
        ('"resend it; all of it", "again"', ("resend it; all of it", "again")),
        ("“把昨天的订单，同步到湖里”、「再来一次」和『补数』", ("把昨天的订单，同步到湖里", "再来一次", "补数")),
        (
            "resend yesterday's orders; pull them again；补一下订单",
            ("resend yesterday's orders", "pull them again", "补一下订单"),
        ),
        ('call it "orders", please; and again', ('call it "orders", please', "and again")),
        ('"again" or "again"', ("again",)),
        ("一句话", ("一句话",)),
    ],
)
def test_phrasings_are_quoted_or_stand_between_semicolons(text: str, phrasings: tuple[str, ...]) -> None:
    assert read(text) == phrasings


@pytest.mark.parametrize("text", ["“”", "；；", '"-"', "—"])
def test_line_without_a_phrasing_names_its_place(text: str) -> None:
    with pytest.raises(InputError, match="no phrasing") as error:
        read(text)
    assert (error.value.file, error.value.line, error.value.field) == ("doc.md", 7, "examples")


@pytest.mark.parametrize("key", ["Examples", "examples", "Phrasings", "示例", "说法", "例句"])
def test_list_below_the_key_holds_phrasings_and_no_statements(key: str) -> None:
    text = (
        f"- 每日9点同步用户订单\n  - {key}：\n    - 每日8点同步库存\n    - “补一下订单”；\n  - 意图：sync_orders\n- 校验库存\n"
    )
    document = parse_document(text, "doc.md", markdown=True)
    assert [statement.quote for statement in document.statements] == ["每日9点同步用户订单", "校验库存"]
    fields = document.statements[0].fields
    assert (fields["phrasings"].value, fields["phrasings"].line) == ("每日8点同步库存; “补一下订单”", 2)
    assert fields["intent"].value == "sync_orders"


def test_list_of_phrasings_in_plain_text_is_indented() -> None:
    text = "Sync orders daily at 9:00\n  Examples:\n    - Fetch logs hourly\n    - again\nCheck stock\n"
    document = parse_document(text, "doc.txt", markdown=False)
    assert [statement.quote for statement in document.statements] == ["Sync orders daily at 9:00", "Check stock"]
    assert document.statements[0].fields["phrasings"].value == "Fetch logs hourly; again"


def test_key_without_anything_below_it_stays_what_it_was() -> None:
    document = parse_document("- Sync orders\n- Examples:\n- Check stock\n", "doc.md", markdown=True)
    assert [statement.quote for statement in document.statements] == ["Sync orders", "Examples:", "Check stock"]


def test_column_holds_phrasings() -> None:
    text = "| 需求 | 说法 |\n|---|---|\n| 同步用户订单 | “补订单”；“再来一次” |\n"
    [statement] = parse_document(text, "doc.md", markdown=True).statements
    assert statement.fields["phrasings"].value == "“补订单”；“再来一次”"
