"""Labelled rows that say what another one says: left out, the row of the more trusted source stays.

Equal texts (but for case, width, white space and punctuation) are one row whatever their labels; nearly equal ones only where
the labels are equal too, since "logs of kong" and "logs of auth" are two lessons.
"""

from __future__ import annotations

from collections.abc import Sequence

from kickwheel.intent.normal_text import comparable
from kickwheel.seeding.similar_texts import similar
from schemas.seed_checks import DuplicateRow
from schemas.utterance import LabelSource, Utterance

_TRUST: tuple[LabelSource, ...] = ("gold", "reviewer", "operator", "seed", "teacher", "distilled", "synthetic")


def duplicate_rows(rows: Sequence[Utterance], *, threshold: float) -> list[DuplicateRow]:
    """Rows to leave out, each with the one that stays.

    Args:
        threshold: similarity from which two texts are nearly equal.
    """
    ranked = sorted(rows, key=_rank)
    texts = [row.text for row in ranked]
    plain = [comparable(text) or text for text in texts]
    out: dict[int, DuplicateRow] = {}
    for pair in similar(texts, texts, threshold):
        place, other = pair.place, pair.other
        if other >= place or place in out or other in out:
            continue
        same_label = _said(ranked[place]) == _said(ranked[other])
        if same_label or plain[place] == plain[other]:
            similarity = 1.0 if plain[place] == plain[other] else pair.similarity
            out[place] = DuplicateRow(id=ranked[place].id, of=ranked[other].id, similarity=similarity, same_label=same_label)
    by_id = {found.id: found for found in out.values()}
    return [by_id[row.id] for row in rows if row.id in by_id]


def repeated_texts(pool: Sequence[Utterance], labelled: Sequence[Utterance]) -> set[str]:
    """Ids of pool rows whose text a labelled row or an earlier pool row has: nobody need be asked about them."""
    seen = {comparable(row.text) or row.text for row in labelled}
    repeated = set()
    for row in pool:
        text = comparable(row.text) or row.text
        if text in seen:
            repeated.add(row.id)
        seen.add(text)
    return repeated


def _rank(row: Utterance) -> int:
    return _TRUST.index(row.provenance.source if row.provenance else "seed")


def _said(row: Utterance) -> object:
    return (row.frame.intent, row.frame.values) if row.frame else None
