"""Personal data in two scripts, and what only looks like them."""

from __future__ import annotations

import pytest

from kickwheel.seeding.personal_data import masked, personal_data
from schemas.utterance import Utterance
from tests.unit.seeding.seeding_world import row


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("写信给zhang.wei@example.com.cn谢谢", "email", "zhang.wei@example.com.cn"),
        ("mail a_b+c@mail-1.org.", "email", "a_b+c@mail-1.org"),
        ("我的手机是13812345678😀", "phone", "13812345678"),
        ("打 +86 138-1234-5678 找我", "phone", "+86 138-1234-5678"),
        ("电话１３８１２３４５６７８", "phone", "１３８１２３４５６７８"),
        ("座机 010-62345678", "phone", "010-62345678"),
        ("call +44 20 7946 0958 today", "phone", "+44 20 7946 0958"),
        ("call (415) 555-0132", "phone", "(415) 555-0132"),
        ("身份证11010519491231002X的客户", "id_number", "11010519491231002X"),
        ("card 4111 1111 1111 1111 was charged", "card", "4111 1111 1111 1111"),
        ("卡号6222021234567890128", "card", "6222021234567890128"),
        ("from 192.168.10.24 since monday", "ip", "192.168.10.24"),
        ("host 2001:db8::8a2e:370:7334 is down", "ip", "2001:db8::8a2e:370:7334"),
    ],
)
def test_personal_data_are_found_where_they_stand(text: str, kind: str, value: str) -> None:
    found = [(finding.kind, text[finding.start : finding.end]) for finding in personal_data(text)]
    assert found == [(kind, value)]


@pytest.mark.parametrize(
    "text",
    [
        "orders of 2026-02-28 at 10:30:00",
        "order 4111111111111112",
        "卡号6222021234567890129",
        "身份证110105194912310021",
        "身份证11010519491331002X",
        "version 1.2.3",
        "127.0.0.1 and 0.0.0.0",
        "999.1.1.1",
        "SKU 12345678901",
        "the last 100000 rows",
        "@here please",
        "xxxx@xxxxxxx.xxx 00000000000",
        "",
    ],
)
def test_what_only_looks_like_it_is_let_be(text: str) -> None:
    assert personal_data(text) == []


def test_several_stand_side_by_side_in_order() -> None:
    text = "a@b.cn, 13812345678, 10.1.2.3"
    assert [finding.kind for finding in personal_data(text)] == ["email", "phone", "ip"]


def test_a_mask_keeps_form_spans_and_what_is_no_personal_data() -> None:
    text = "😀把13812345678的订单发到zhang@example.com，昨天的"
    before = row("p", text, "sync_orders", date="昨天", region="zhang@example.com")
    after = masked(before)
    assert after.text == "😀把00000000000的订单发到xxxxx@xxxxxxx.xxx，昨天的"
    assert after.frame is not None
    assert after.frame.values == {"region": "xxxxx@xxxxxxx.xxx", "date": "昨天"}
    assert Utterance.model_validate(after.model_dump()) == after
    assert (after.id, after.language, after.provenance) == (before.id, before.language, before.provenance)
    assert masked(after) == after
    assert personal_data(after.text) == []


def test_a_row_without_is_the_same_row() -> None:
    plain = row("p", "orders of EMEA", "sync_orders")
    assert masked(plain) is plain
