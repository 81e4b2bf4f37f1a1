"""How sure a model was of an intent and of each slot, from the tokens that wrote them."""

from __future__ import annotations

import math

import pytest

from kickwheel.inference.field_confidence import FieldConfidence, field_confidence
from kickwheel.inference.ports import ChatReply
from schemas.frame import Frame

TEXT = "把华东😀的订单同步一下 yesterday"
FRAME = Frame.from_values(TEXT, "sync_orders", {"region": "华东", "date": "yesterday"})


def reply(*tokens: tuple[str | bytes, float]) -> ChatReply:
    parts = tuple((token if isinstance(token, bytes) else token.encode(), math.log(share)) for token, share in tokens)
    return ChatReply(b"".join(token for token, _ in parts).decode(), "stop", "m", 1, 1, token_logprobs=parts)


def test_each_field_has_the_product_of_its_tokens() -> None:
    written = reply(
        ('{"intent": "', 0.1),
        ("sync", 0.9),
        ("_orders", 0.8),
        ('", "slots": {"region": "', 0.1),
        ("华", 0.5),
        ("东", 0.5),
        ('", "date": "', 0.1),
        ("yesterday", 0.7),
        ('"}}', 0.1),
    )
    found = field_confidence(written, FRAME)
    assert found.intent == pytest.approx(0.72)
    assert found.slots == pytest.approx({"region": 0.25, "date": 0.7})


def test_tokens_that_end_inside_a_character_count_once() -> None:
    first, second = "华".encode()[:1], "华".encode()[1:]
    written = reply(
        ('{"slots": {"region": "', 1.0), (first, 0.5), (second + "东".encode(), 0.5), ('"}, "intent": "sync_orders"}', 0.9)
    )
    found = field_confidence(written, FRAME)
    assert found.slots == pytest.approx({"region": 0.25})
    assert found.intent == pytest.approx(0.9)


def test_a_value_in_escapes_is_found_and_an_absent_one_is_not_known() -> None:
    written = reply(('{"intent": "sync_orders", "slots": {"region": "', 1.0), ("\\u534e\\u4e1c", 0.6), ('"}}', 1.0))
    assert field_confidence(written, FRAME).slots == pytest.approx({"region": 0.6})


@pytest.mark.parametrize(
    "written",
    [
        ChatReply('{"intent": "sync_orders"}', "stop", "m", 1, 1),
        ChatReply('{"intent": "sync_orders"}', "stop", "m", 1, 1, token_logprobs=((b"something else", -0.1),)),
    ],
    ids=["no logprobs", "tokens of another text"],
)
def test_what_is_not_known_is_not_low(written: ChatReply) -> None:
    """refuel-ai/autolabel PR 664 and 746."""
    assert field_confidence(written, FRAME) == FieldConfidence(None, {})


def test_tokens_before_the_reply_do_not_shift_it() -> None:
    written = reply(('{"intent": "', 1.0), ("sync_orders", 0.4), ('"}', 1.0))
    shifted = ChatReply(written.text, "stop", "m", 1, 1, token_logprobs=((b"<think>", -9.0), *(written.token_logprobs or ())))
    assert field_confidence(shifted, FRAME).intent == pytest.approx(0.4)


def test_a_slot_named_intent_is_not_the_intent() -> None:
    frame = Frame.from_values("find intent sync_orders", "search", {"intent": "sync_orders"})
    written = reply(('{"intent": "', 1.0), ("search", 0.5), ('", "slots": {"intent": "', 1.0), ("sync_orders", 0.2), ('"}}', 1))
    assert field_confidence(written, frame) == FieldConfidence(pytest.approx(0.5), {"intent": pytest.approx(0.2)})
