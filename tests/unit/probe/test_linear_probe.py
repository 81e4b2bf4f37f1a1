"""The probe on small data: shapes, spans, one intent, the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from kickwheel.errors import StageFailed
from kickwheel.probe import Probe
from kickwheel.probe.tokens import tokenize
from schemas.frame import Frame
from schemas.utterance import Utterance, language_of

CITIES = ("Rome", "Oslo", "Lima", "深圳", "杭州", "Quito")


def row(text: str, intent: str, **slots: str) -> Utterance:
    return Utterance(id=text, text=text, language=language_of(text), frame=Frame.from_values(text, intent, slots))


ROWS = [
    *(row(f"sync the orders of {city} please", "sync_orders", region=city) for city in CITIES),
    *(row(f"把{city}的订单同步一下", "sync_orders", region=city) for city in CITIES),
    *(row(f"fetch logs of service-{n} since Monday", "fetch_logs", service=f"service-{n}") for n in range(8)),
    *(row(f"what is the weather in {city}", "out_of_scope") for city in CITIES),
]


def test_probabilities_are_rows_by_classes_and_sum_to_one() -> None:
    probe = Probe.fit(ROWS, seed=0)
    table = probe.probabilities(["sync orders", "logs", "同步订单"])
    assert table.shape == (3, 3)
    assert probe.classes == ("fetch_logs", "out_of_scope", "sync_orders")
    np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_predictions_hold_frames_with_the_intents_probability() -> None:
    probe = Probe.fit(ROWS, seed=0)
    text = "sync the orders of Rome please"
    prediction = probe.predict([text])[0]
    assert prediction.frame == ROWS[0].frame
    assert prediction.confidence == pytest.approx(probe.probabilities([text]).max())


def test_chinese_spans_count_code_points_of_the_text_as_given() -> None:
    """RasaHQ/rasa 6752: emoji and full-width letters before a span must not shift it."""
    text = "😀ＡＰＩ 把深圳的订单同步一下"
    frame = Probe.fit(ROWS, seed=0).predict([text])[0].frame
    assert frame is not None
    assert frame.values == {"region": "深圳"}
    assert text[frame.slots[0].start : frame.slots[0].end] == "深圳"


def test_an_intent_never_gets_a_slot_that_it_did_not_have_in_training() -> None:
    for prediction in Probe.fit(ROWS, seed=0).predict(["fetch logs of Rome", "weather service-3 in Oslo", "sync service-2"]):
        assert prediction.frame is not None
        allowed = {"sync_orders": {"region"}, "fetch_logs": {"service"}, "out_of_scope": set()}[prediction.frame.intent]
        assert set(prediction.frame.values) <= allowed


def test_one_intent_is_predicted_with_certainty_and_its_slots_are_still_found() -> None:
    only = [item for item in ROWS if item.frame and item.frame.intent == "sync_orders"]
    probe = Probe.fit(only, seed=0)
    assert probe.probabilities(["anything"]).tolist() == [[1.0]]
    prediction = probe.predict(["sync the orders of Oslo please"])[0]
    assert prediction.frame == Frame.from_values("sync the orders of Oslo please", "sync_orders", {"region": "Oslo"})


def test_rows_without_slots_or_without_words_are_no_trouble() -> None:
    probe = Probe.fit([row("🙃🙃", "a"), row("??", "b")], seed=0)
    assert {p.frame.intent for p in probe.predict(["🙃🙃", "  ", "??"]) if p.frame} == {"a", "b"}
    assert probe.predict([]) == []


def test_no_labelled_row_is_refused() -> None:
    with pytest.raises(StageFailed, match="at least one labelled row"):
        Probe.fit([Utterance(id="u", text="u", language="en")], seed=0)


def test_the_same_seed_gives_the_same_answers() -> None:
    texts = [item.text[::-1] for item in ROWS]
    first, second = (Probe.fit(ROWS, seed=3, vocabulary_texts=["orders of Bern"]).predict(texts) for _ in range(2))
    assert first == second


def test_tokens_keep_codes_together_and_han_characters_apart() -> None:
    text = "查 SG-TEE-BLK, 😀２０２６-02-28昨天"
    assert [text[token.start : token.end] for token in tokenize(text)] == [
        "查", "SG-TEE-BLK", ",", "😀", "２０２６-02-28", "昨", "天",
    ]  # fmt: skip
    assert tokenize(text)[4].normal == "2026-02-28"
