"""Hashed n-grams: near texts are near, in Chinese as in English, and nothing depends on the texts beside."""

from __future__ import annotations

import numpy as np
import pytest

from kickwheel.embedding.ngrams import NgramEmbedder

GROUPS = [
    ("sync the orders of yesterday", "sync yesterday's orders", "what is for lunch?"),
    ("把昨天的订单同步一下", "同步昨天的订单", "午饭吃什么"),
]


@pytest.mark.parametrize(("text", "near", "far"), GROUPS)
def test_near_texts_are_nearer(text: str, near: str, far: str) -> None:
    a, b, c = NgramEmbedder().embed([text, near, far])
    assert a @ b > a @ c + 0.2
    assert np.linalg.norm(a) == pytest.approx(1)


def test_a_text_has_one_vector_whatever_is_beside_it() -> None:
    embedder = NgramEmbedder(dimensions=64)
    alone, together = embedder.embed(["😀 订单"]), embedder.embed(["other", "😀 订单"])
    assert alone.shape == (1, 64)
    assert alone.dtype == np.float32
    assert alone[0].tolist() == together[1].tolist()


def test_width_is_part_of_the_identity_and_a_text_of_nothing_has_a_vector_too() -> None:
    assert NgramEmbedder(64).identity != NgramEmbedder(128).identity
    assert np.linalg.norm(NgramEmbedder(64).embed(["", "🙃"]), axis=1) == pytest.approx(1)
    assert NgramEmbedder(64).embed([]).shape == (0, 64)
