"""Slot spans are code points, whatever the text is made of (RasaHQ/rasa 6752, 10578; label-studio 1250, converter 254)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.frame import Frame, Slot
from schemas.utterance import Utterance, language_of

ALPHABETS = ("订单同步昨天仓库", "🚚📦🧾", "０１２３４５", "e\u0301o\u0308", "abcXYZ", "ａｂｃ，。", "👩\u200d👧")
"""One a slot: their characters are disjoint, so a value stands in its own place and nowhere else."""
FILLER = " .,;的把 \u00a0–𠮷"

Case = tuple[str, dict[str, str], dict[str, tuple[int, int]]]


@st.composite
def texts_with_slots(draw: st.DrawFn) -> Case:
    """A text, the values in it by slot name, and where each stands."""
    alphabets = draw(st.permutations(ALPHABETS))[: draw(st.integers(1, len(ALPHABETS)))]
    text = draw(st.text(FILLER, max_size=6))
    values: dict[str, str] = {}
    places: dict[str, tuple[int, int]] = {}
    for number, alphabet in enumerate(alphabets):
        value = draw(st.text(alphabet, min_size=1, max_size=8))
        values[f"slot_{number}"], places[f"slot_{number}"] = value, (len(text), len(text) + len(value))
        text += value + draw(st.text(FILLER, max_size=6))
    return text, dict(draw(st.permutations(list(values.items())))), places


@given(texts_with_slots())
def test_values_are_found_where_they_stand(case: Case) -> None:
    text, values, places = case
    frame = Frame.from_values(text, "sync_orders", values)
    assert {slot.name: (slot.start, slot.end) for slot in frame.slots} == places
    assert frame.values == values


@given(texts_with_slots())
def test_spans_survive_json_and_still_cut_the_value_out_of_the_text(case: Case) -> None:
    text, values, _ = case
    row = Utterance(id="a", text=text, language=language_of(text), frame=Frame.from_values(text, "sync_orders", values))
    for line in (row.model_dump_json(), json.dumps(row.model_dump(mode="json"), ensure_ascii=True)):
        again = Utterance.model_validate_json(line)
        assert again == row
        assert again.frame is not None
        assert {slot.name: again.text[slot.start : slot.end] for slot in again.frame.slots} == values


@given(texts_with_slots(), st.sampled_from([-3, -2, -1, 1, 2, 3]))
def test_shifted_span_never_passes_unless_the_text_repeats_there(case: Case, shift: int) -> None:
    text, values, places = case
    name, (start, end) = next(iter(places.items()))
    if start + shift < 0:
        return
    moved = Frame(intent="sync_orders", slots=(Slot(name=name, value=values[name], start=start + shift, end=end + shift),))
    with pytest.raises(ValidationError, match=r"text\["):
        Utterance(id="a", text=text, language=language_of(text), frame=moved)


@given(st.text("ab订🚚", min_size=1, max_size=12), st.lists(st.text("ab订🚚", min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_values_give_true_spans_or_a_value_error(text: str, found: list[str]) -> None:
    values = {f"slot_{number}": value for number, value in enumerate(found)}
    try:
        frame = Frame.from_values(text, "sync_orders", values)
    except ValueError:
        return
    assert frame.values == values
    assert all(text[slot.start : slot.end] == slot.value for slot in frame.slots)


def test_utf16_offsets_of_a_browser_are_refused() -> None:
    text = "🚚 昨天 orders"
    utf16 = Slot(name="date", value="昨天", start=3, end=5)  # the emoji counts as two there
    with pytest.raises(ValidationError, match="is '天 '"):
        Utterance(id="a", text=text, language="zh", frame=Frame(intent="sync_orders", slots=(utf16,)))


def test_full_width_digits_are_not_their_ascii_cousins() -> None:
    with pytest.raises(ValueError, match="does not stand in the text"):
        Frame.from_values("同步２号仓", "sync_orders", {"region": "2号仓"})


def test_composed_and_decomposed_letters_are_different_text() -> None:
    with pytest.raises(ValueError, match="does not stand in the text"):
        Frame.from_values("Cafe\u0301 Nord", "sync_orders", {"region": "Caf\u00e9"})


def test_longest_value_takes_the_place_that_holds_both() -> None:
    frame = Frame.from_values("上海 and 上海浦东", "sync_orders", {"city": "上海", "region": "上海浦东"})
    assert [(slot.name, slot.start) for slot in frame.slots] == [("city", 0), ("region", 7)]


def test_equal_values_take_one_occurrence_each() -> None:
    assert [slot.start for slot in Frame.from_values("a a", "sync_orders", {"x": "a", "y": "a"}).slots] == [0, 2]
    with pytest.raises(ValueError, match="does not stand in the text"):
        Frame.from_values("a", "sync_orders", {"x": "a", "y": "a"})


@pytest.mark.parametrize("text", ["订单", "sync 订单", "㐀"])
def test_any_han_character_makes_a_row_chinese(text: str) -> None:
    assert language_of(text) == "zh"


@pytest.mark.parametrize("text", ["orders", "０１２", "カナ", "🚚", "，。"])
def test_wide_punctuation_kana_and_emoji_do_not(text: str) -> None:
    assert language_of(text) == "en"
