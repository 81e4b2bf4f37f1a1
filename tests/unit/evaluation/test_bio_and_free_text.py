"""BIO spans as seqeval counts them; BLEU and ROUGE-L that can read Chinese."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kickwheel.evaluation.bio import Chunk, bio_scores, chunks
from kickwheel.evaluation.free_text import bleu, free_text_quality, rouge_l, tokens
from schemas.frame import Frame, Prediction

RECORDED = json.loads((Path(__file__).parent / "seqeval_1_2_2.json").read_text(encoding="utf-8"))
"""500 random sequences, ill-formed ones among them, in 25 sets, and what seqeval 1.2.2 said of each set (default mode)."""


@pytest.mark.parametrize("case", RECORDED, ids=range(len(RECORDED)))
def test_scores_are_those_of_seqeval(case: dict[str, object]) -> None:
    gold, predicted = ([str(tags).split() for tags in case[key]] for key in ("gold", "predicted"))  # type: ignore[attr-defined]
    found = bio_scores(gold, predicted)
    assert found == pytest.approx((case["precision"], case["recall"], case["f1"]))


def test_an_inside_tag_without_a_beginning_is_a_chunk() -> None:
    assert chunks(["I-a", "I-a", "I-b", "O", "B-b", "B-b"]) == [
        Chunk("a", 0, 2),
        Chunk("b", 2, 3),
        Chunk("b", 4, 5),
        Chunk("b", 5, 6),
    ]
    assert chunks([]) == []


def test_nothing_to_find_is_0_as_in_seqeval_and_lengths_must_agree() -> None:
    assert bio_scores([["O"]], [["O"]]).f1 == 0
    with pytest.raises(ValueError, match="text 0 has 1 gold tags and 2"):
        bio_scores([["O"]], [["O", "O"]])


def test_chinese_is_tokenised_by_character_and_the_rest_by_word() -> None:
    assert tokens("把 SKU-12 的订单 sync") == ["把", "SKU-12", "的", "订", "单", "sync"]


def test_rouge_l_by_hand() -> None:
    assert rouge_l(["a", "b", "c", "d"], ["a", "x", "c"]) == pytest.approx(2 * 2 / 7)
    assert rouge_l([], []) == 1
    assert rouge_l(["a"], []) == 0
    assert rouge_l(tokens("订单同步失败"), tokens("订单同步成功")) == pytest.approx(4 / 6)


def test_bleu_goes_from_0_to_100_also_for_short_values() -> None:
    same = [tokens("仓库温度过高"), tokens("late truck")]
    assert bleu(same, same) == pytest.approx(100)
    assert bleu(same, [[], []]) == 0
    assert 0 < bleu(same, [tokens("仓库温度过低"), tokens("late train")]) < 100


def test_free_text_of_frames_counts_missing_values_as_empty() -> None:
    text = "tell Ann the truck is late"
    gold = [Frame.from_values(text, "notify", {"message": "the truck is late", "who": "Ann"})] * 2
    near = Frame.from_values(text, "notify", {"message": "truck is late"})
    answers = [Prediction(frame=near), Prediction(error="malformed")]
    found = free_text_quality(gold, answers, ("message",))
    assert found is not None
    assert found.rows == 2
    assert found.rouge_l == pytest.approx((2 * 3 / 7) / 2)
    assert 0 < found.bleu < 100
    assert free_text_quality(gold, answers, ("other",)) is None
