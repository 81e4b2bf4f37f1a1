"""Slot F1 of BIO-tagged data such as SNIPS, by the rules of conlleval and of seqeval's default mode.

Own code, since seqeval has had no release since 2020 and comes as a source archive only; a test holds it to what seqeval 1.2.2
gave on five hundred random sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

OUTSIDE = "O"


class Chunk(NamedTuple):
    """A run of tokens of one type: [start, end) in tokens."""

    type: str
    start: int
    end: int


class SpanScores(NamedTuple):
    """Micro figures over chunks; 0 where there is nothing to divide by, as seqeval has it."""

    precision: float
    recall: float
    f1: float


def chunks(tags: Sequence[str]) -> list[Chunk]:
    """Chunks of B-, I- and O tags. An I- that follows another type, or nothing, begins a chunk: conlleval's leniency."""
    found: list[Chunk] = []
    start, kind = 0, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        mark, _, name = tag.partition("-")
        if kind and (mark != "I" or name != kind):
            found.append(Chunk(kind, start, place))
            kind = ""
        if mark != OUTSIDE and not kind:
            start, kind = place, name or "_"
    return found


def bio_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> SpanScores:
    """Micro precision, recall and F1 of chunks that agree in type, start and end.

    Raises:
        ValueError: texts or their lengths differ.
    """
    right = wanted = given = 0
    for number, (true, said) in enumerate(zip(gold, predicted, strict=True)):
        if len(true) != len(said):
            raise ValueError(f"text {number} has {len(true)} gold tags and {len(said)} predicted ones")
        a, b = set(chunks(true)), set(chunks(said))
        right, wanted, given = right + len(a & b), wanted + len(a), given + len(b)
    precision, recall = right / given if given else 0.0, right / wanted if wanted else 0.0
    return SpanScores(precision, recall, 2 * right / (wanted + given) if right else 0.0)
