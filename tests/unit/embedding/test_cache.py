"""Vectors that were paid for once stay; a broken shard is told and not trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kickwheel.embedding.cache_adapter import CachedEmbedder
from kickwheel.embedding.ports import Vectors
from kickwheel.errors import StageFailed

TEXTS = ["one", "二", "three 😀", "one"]


class Counting:
    """Two numbers a text, and a list of what was asked."""

    dimensions = 2

    def __init__(self, identity: str = "counting", width: int = 2) -> None:
        self.identity, self.width = identity, width
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return np.array([[len(text), ord(text[0])][: self.width] for text in texts], dtype=np.float32)


def test_a_text_is_embedded_once_across_processes(tmp_path: Path) -> None:
    embedder = Counting()
    first = CachedEmbedder(embedder, tmp_path).embed(TEXTS)
    assert embedder.asked == TEXTS[:3]
    again = CachedEmbedder(embedder, tmp_path).embed([*TEXTS, "four"])
    assert embedder.asked == [*TEXTS[:3], "four"]
    assert again[:4].tolist() == first.tolist() == Counting().embed(TEXTS).tolist()


def test_embedders_do_not_share(tmp_path: Path) -> None:
    CachedEmbedder(Counting(), tmp_path).embed(TEXTS)
    other = Counting("other")
    CachedEmbedder(other, tmp_path).embed(TEXTS)
    assert other.asked == TEXTS[:3]


def test_shards_are_small_and_no_pickles(tmp_path: Path) -> None:
    cached = CachedEmbedder(Counting(), tmp_path, shard_rows=2)
    cached.embed(TEXTS)
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".safetensors"] * 2
    assert cached.embed(["three 😀", "二"]).tolist() == Counting().embed(["three 😀", "二"]).tolist()


def test_what_a_kill_left_half_written_is_not_read(tmp_path: Path) -> None:
    CachedEmbedder(Counting(), tmp_path).embed(TEXTS)
    folder = next(tmp_path.iterdir())
    (folder / ".torn.safetensors.1.tmp").write_bytes(b"half")
    embedder = Counting()
    CachedEmbedder(embedder, tmp_path).embed(TEXTS)
    assert embedder.asked == []


def test_a_broken_shard_is_named(tmp_path: Path) -> None:
    CachedEmbedder(Counting(), tmp_path).embed(TEXTS)
    next(tmp_path.rglob("*.safetensors")).write_bytes(b"nonsense")
    with pytest.raises(StageFailed, match="remove that file"):
        CachedEmbedder(Counting(), tmp_path)


def test_vectors_of_another_shape_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match=r"shape \(1, 1\), expected \(1, 2\)"):
        CachedEmbedder(Counting(width=1), tmp_path).embed(["x"])


def test_no_texts_no_vectors(tmp_path: Path) -> None:
    assert CachedEmbedder(Counting(), tmp_path).embed([]).shape == (0, 2)
