"""The cache: spellings of one request share an answer, each with its own code points; what may mean something else does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel.serving.response_cache import ResponseCache
from kickwheel.spellings import carried, normal_text
from schemas.frame import Frame, Prediction, Slot


def answer(text: str, **slots: str) -> Prediction:
    return Prediction(frame=Frame.from_values(text, "sync_orders", slots), raw="{}", confidence=0.9)


SAME = [
    ("Sync orders for yesterday", "  sync   ORDERS for yesterday! "),
    ("把昨天的订单同步到２号仓", "把 昨天的订单，同步到2号仓。"),
    ("🚚 sync orders", "🚚  Sync Orders?"),
    ("sync “orders” now", 'sync "orders" now'),
    ("café orders", "cafe\u0301 orders"),
    ("ｓｙｎｃ orders", "sync orders"),
    ("straße", "STRASSE"),
]
OTHER = [
    ("load 1.5 GB", "load 15 GB"),
    ("since 2026-01-02", "since 20260102"),
    ("drop -5", "drop 5"),
    ("at 50%", "at 50"),
    ("table a_b", "table ab"),
    ("sync orders 🚚", "sync orders"),
    ("now here", "nowhere"),
    ("C++ jobs", "C jobs"),
    ("？", "！！"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_share_a_key(one: str, other: str) -> None:
    assert normal_text(one).key == normal_text(other).key


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_may_mean_something_else_has_a_key_of_its_own(one: str, other: str) -> None:
    assert normal_text(one).key != normal_text(other).key


def test_a_hit_in_another_spelling_has_the_code_points_of_that_spelling() -> None:
    cache = ResponseCache(10)
    first = "把昨天的订单同步到２号仓"
    cache.put("v1", first, answer(first, date="昨天", region="２号仓"))
    for text, region in [("🚚把 昨天 的订单,同步到 2号仓!", None), ("把  昨天的订单，同步到2号仓。", "2号仓")]:
        found = cache.get("v1", text)
        if region is None:
            assert found is None  # an emoji may mean something
            continue
        assert found is not None
        assert found.frame is not None
        assert found.frame.values == {"date": "昨天", "region": region}
        assert all(text[slot.start : slot.end] == slot.value for slot in found.frame.slots)
    assert cache.hit_rate == 0.5


def test_the_second_of_two_equal_words_stays_the_second() -> None:
    cache = ResponseCache(10)
    first, second = "copy a to a", "Copy  A  to  A."
    cache.put("v1", first, Prediction(frame=Frame(intent="copy", slots=(Slot(name="to", value="a", start=10, end=11),))))
    found = cache.get("v1", second)
    assert found is not None
    assert found.frame is not None
    assert found.frame.slots == (Slot(name="to", value="A", start=13, end=14),)


def test_a_slot_that_cannot_be_placed_is_a_miss() -> None:
    cache = ResponseCache(10)
    cache.put(
        "v1", "say hello!", Prediction(frame=Frame(intent="say", slots=(Slot(name="what", value="hello!", start=4, end=10),)))
    )
    assert cache.get("v1", "say hello") is None
    assert cache.get("v1", "say hello!") is not None


def test_versions_share_nothing_and_the_oldest_goes_first() -> None:
    cache = ResponseCache(2)
    cache.put("v1", "one", answer("one"))
    assert cache.get("v2", "one") is None
    cache.put("v1", "two", answer("two"))
    cache.get("v1", "one")
    cache.put("v1", "three", answer("three"))
    assert cache.get("v1", "two") is None
    assert cache.get("v1", "one") is not None


def test_a_reply_that_is_no_frame_is_not_kept_and_size_0_keeps_nothing() -> None:
    for cache, prediction in [(ResponseCache(2), Prediction(error="malformed")), (ResponseCache(0), answer("one"))]:
        cache.put("v1", "one", prediction)
        assert cache.get("v1", "one") is None


LETTERS = st.sampled_from("aB cß1２.-_，。!昨天 ㍿ﬁe\u0301\u0323🚚👩\u200d👧\u3000한\u1112\u1161İ")
TEXTS = st.text(LETTERS, min_size=1, max_size=20)


@settings(deadline=None)
@given(TEXTS, st.data())
def test_carried_slots_are_what_stands_there_in_every_spelling(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    source = normal_text(text)
    frame = Frame(intent="sync_orders", slots=(Slot(name="what", value=text[start:end], start=start, end=end),))
    for spelling in (text.upper(), text.replace(" ", "  "), text + "。", "  " + text, text.replace("２", "2")):
        target = normal_text(spelling)
        if target.key != source.key:
            continue
        moved = carried(frame, source, target)
        if moved is not None:
            (slot,) = moved.slots
            assert spelling[slot.start : slot.end] == slot.value
            if spelling != text:
                assert normal_text(slot.value).key == normal_text(text[start:end]).key


@settings(deadline=None)
@given(st.text(max_size=40))
def test_every_character_of_a_normal_form_came_from_somewhere(text: str) -> None:
    once = normal_text(text)
    assert len(once.key) == len(once.starts) == len(once.ends)
    assert all(0 <= start < end <= len(text) for start, end in zip(once.starts, once.ends, strict=True))


@pytest.mark.parametrize(
    "text", ["Sync  the\tORDERS of 2026-01-02, please!", " a_b: (1.5) ", "?!", "", "x\x1cy", "50% -5 #3 ~ `z`"]
)
def test_plain_ascii_is_read_as_any_other_text(text: str) -> None:
    plain, wide = normal_text(text), normal_text(text + "\u3000")  # a wide blank at the end tells nothing, but is not ASCII
    assert (plain.key, plain.starts, plain.ends) == (wide.key, wide.starts, wide.ends)
