"""Requirement documents: which sentences are found, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.intent.documents import Document, parse_document, read_document
from kickwheel.intent.sentences import split_sentences

MARKDOWN = """\
---
title: 需求
zone: Asia/Shanghai
---

# 同步用户订单 (a heading is no statement)

Some words about
why. 每小时拉取API日志。每日9点
同步用户订单至数据湖！

> Ignore this quote.

- **Sync** the `orders` to the lake daily at 9:00
  - Intent: sync_orders
  - Slots: date
- 校验库存
  说明：check stock

```
Fetch nothing every day at 9:00
```

| Requirement | When | Intent |
|---|---|---|
| Fetch API logs | every hour | fetch_api_logs |
| Check invoices | | |

| 事 | 何时 |
|---|---|
| 归档点击流 | 每周日3点 |
"""


def markdown(text: str) -> Document:
    return parse_document(text, "doc.md", markdown=True)


def test_statements_are_found_in_prose_lists_and_tables_with_their_lines() -> None:
    found = [(statement.line, statement.quote) for statement in markdown(MARKDOWN).statements]
    assert found == [
        (8, "Some words about why"),
        (9, "每小时拉取API日志"),
        (9, "每日9点同步用户订单至数据湖"),
        (14, "Sync the orders to the lake daily at 9:00"),
        (17, "校验库存"),
        (26, "Fetch API logs"),
        (27, "Check invoices"),
        (31, "归档点击流, 每周日3点"),
    ]


def test_columns_of_time_hold_for_each_sentence_of_a_row_and_are_joined_where_there_are_two() -> None:
    text = "| 需求 | 频率 | 时间 | 意图 |\n|---|---|---|---|\n| 归档日志。校验库存 | 每周一 | 9点 | check_stock |\n"
    logs, stock = markdown(text).statements
    assert (logs.fields["schedule"].value, stock.fields["schedule"].value) == ("每周一, 9点", "每周一, 9点")
    assert ("intent" in logs.fields, "intent" in stock.fields) == (False, True)


def test_statement_knows_the_one_that_it_stands_below() -> None:
    text = "A. B.\n\n- C\n  - D\n  - E. F\n- G\n\nH\n\n| 需求 |\n|---|\n| I |\n"
    found = [(statement.quote, statement.above) for statement in markdown(text).statements]
    assert found == [
        ("A", None), ("B", 0), ("C", 1), ("D", 2), ("E", 2), ("F", 4), ("G", 1), ("H", None), ("I", None),
    ]  # fmt: skip


def test_cells_that_no_column_name_explains_are_kept() -> None:
    [beside] = markdown("| 需求 | 备注 |\n|---|---|\n| 校验库存 | 周末不执行 |\n").statements
    assert (beside.quote, beside.unread) == ("校验库存", ("周末不执行",))


def test_lines_below_a_statement_and_columns_beside_it_say_more_about_it() -> None:
    by_quote = {statement.quote: statement.fields for statement in markdown(MARKDOWN).statements}
    orders = by_quote["Sync the orders to the lake daily at 9:00"]
    assert {name: (field.value, field.line) for name, field in orders.items()} == {
        "intent": ("sync_orders", 15),
        "slots": ("date", 16),
    }
    assert by_quote["校验库存"]["description"].value == "check stock"
    assert {name: field.value for name, field in by_quote["Fetch API logs"].items()} == {
        "schedule": "every hour",
        "intent": "fetch_api_logs",
    }
    assert by_quote["Check invoices"] == {}


def test_front_matter_names_the_zone() -> None:
    assert markdown(MARKDOWN).front.zone == "Asia/Shanghai"


@pytest.mark.parametrize(("zone", "why"), [("CST", "ambiguous"), ("Mars/Olympus", "no IANA zone")])
def test_front_matter_with_a_bad_zone_names_its_line(zone: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as error:
        markdown(f"---\ntitle: x\nzone: {zone}\n---\ntext\n")
    assert (error.value.line, error.value.field) == (3, "zone")


def test_same_field_twice_is_an_error_with_its_line() -> None:
    with pytest.raises(InputError, match="second time") as error:
        markdown("- Sync orders\n  - Intent: a\n  - Intent: b\n")
    assert error.value.line == 3


def test_in_plain_text_every_line_stands_for_itself() -> None:
    text = "- 每小时拉取API日志\n\n2) Sync orders. Check stock?\n3点校验库存\n*/15 * * * * 校验库存\n* * * * * 校验\n* 校验\n"
    document = parse_document(text, "doc.txt", markdown=False)
    assert [(s.line, s.quote) for s in document.statements] == [
        (1, "每小时拉取API日志"),
        (3, "Sync orders"),
        (3, "Check stock?"),
        (4, "3点校验库存"),
        (5, "*/15 * * * * 校验库存"),
        (6, "* * * * * 校验"),
        (7, "校验"),
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("at 9 a.m. sync orders. Then check.", ["at 9 a.m. sync orders", "Then check"]),
        ("e.g. at 18.30 daily; done", ["e.g. at 18.30 daily", "done"]),
        ("一。二！三？四；五", ["一", "二", "三？", "四", "五"]),
    ],
)
def test_sentences_end_where_people_end_them(text: str, sentences: list[str]) -> None:
    found = split_sentences(text)
    assert [sentence for _, sentence in found] == sentences
    assert all(text[offset:].startswith(sentence) for offset, sentence in found)


def test_unreadable_documents_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such document"):
        read_document(tmp_path / "none.md")
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"\.docx.*\.md.*\.pdf"):
        read_document(tmp_path / "a.xlsx")
    (tmp_path / "gbk.md").write_bytes("同步订单".encode("gbk"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_document(tmp_path / "gbk.md")
