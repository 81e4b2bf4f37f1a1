"""Texts that are (nearly) the same: Jaccard similarity of character trigrams, without case, width, white space and punctuation.

Exact, not MinHash: one side is always a small set (evaluation rows, labelled rows), and a product of two sparse matrices
compares a million texts with a thousand without a further dependency. Trigrams serve Chinese as they serve English.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from kickwheel.intent.normal_text import comparable

_SIZE = 3
_BLOCK = 2_000
"""Texts compared at a time: the product of a block with 10,000 others stays below some hundred MB."""


@dataclass(frozen=True)
class Similar:
    """The places of a text and of another that is like it, and how like."""

    place: int
    other: int
    similarity: float


def trigrams(text: str) -> frozenset[str]:
    """Character trigrams of a text; one that is shorter, or of signs alone, is its own only one."""
    plain = comparable(text) or text
    return frozenset(plain[start : start + _SIZE] for start in range(max(1, len(plain) - _SIZE + 1)))


def _as_it_is(parts: frozenset[str]) -> frozenset[str]:
    return parts


def similar(texts: Sequence[str], others: Sequence[str], threshold: float) -> Iterator[Similar]:
    """Every pair of a text and another at or above the threshold (> 0), by place, the likest first, ties in order."""
    if not texts or not others:
        return
    counter = CountVectorizer(analyzer=_as_it_is, binary=True, dtype=np.float32)
    parts = [trigrams(text) for text in others]
    known = counter.fit_transform(parts).T.tocsc()
    sizes = np.array([len(part) for part in parts])
    for start in range(0, len(texts), _BLOCK):
        block = [trigrams(text) for text in texts[start : start + _BLOCK]]
        common = (counter.transform(block) @ known).tocsr()
        for place, own in enumerate(block):
            row = slice(common.indptr[place], common.indptr[place + 1])
            columns, shared = common.indices[row], common.data[row]
            likeness = shared / (len(own) + sizes[columns] - shared)
            alike = sorted((-float(likeness[i]), int(columns[i])) for i in np.flatnonzero(likeness >= threshold))
            yield from (Similar(start + place, column, min(1.0, -negative)) for negative, column in alike)


def most_similar(texts: Sequence[str], others: Sequence[str], threshold: float) -> dict[int, Similar]:
    """For each text that has one, by its place: the other text most like it."""
    found: dict[int, Similar] = {}
    for pair in similar(texts, others, threshold):
        found.setdefault(pair.place, pair)
    return found
