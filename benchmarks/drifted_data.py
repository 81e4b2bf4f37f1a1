"""SNIPS, and a drift within it: before, users word each intent in some ways; afterwards, mostly in others.

Each intent's utterances are parted in two by k-means over their words with the slot values taken out, so that what changes is
the wording and not the values. Seeds come from the larger part, traffic and evaluation mostly from the smaller.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kickwheel.errors import InputError
from schemas.frame import Frame, Slot
from schemas.utterance import Provenance, Utterance


@dataclass(frozen=True)
class Drifted:
    """Rows of each kind; no text stands in two of them."""

    seeds: list[Utterance]
    traffic: list[list[Utterance]]
    valid: list[Utterance]
    evaluation: list[Utterance]


def read_slot_rows(folder: Path, split: str) -> list[Utterance]:
    """Rows of ``seq.in``, ``seq.out`` (a BIO tag a token) and ``label``. A text that came before is left out.

    Raises:
        InputError: a file is missing, or a line's tokens and tags differ in number.
    """
    lines = []
    for part in ("seq.in", "seq.out", "label"):
        file = folder / split / part
        if not file.is_file():
            raise InputError("there is no such file: expected seq.in, seq.out and label, a row a line", file=file)
        lines.append(file.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    rows, seen = [], set()
    for number, (words, tags, label) in enumerate(zip(*lines, strict=True), start=1):
        tokens, marks = words.split(), tags.split()
        if len(tokens) != len(marks):
            raise InputError(f"{len(tokens)} tokens, but {len(marks)} tags", file=folder / split / "seq.out", line=number)
        text = " ".join(tokens)
        if text in seen:
            continue
        seen.add(text)
        frame = Frame(intent=_slug(label.strip()), slots=_slots(text, tokens, marks))
        rows.append(
            Utterance(id=f"{split}-{number:05d}", text=text, language="en", frame=frame, provenance=Provenance(source="gold"))
        )
    return rows


def drifted(
    rows: list[Utterance],
    *,
    seed: int,
    laps: int,
    seeds_an_intent: int,
    requests_a_lap: int,
    checked_an_intent: int,
    drift: float,
) -> Drifted:
    """Deal ``rows`` (labelled). ``drift``: share of traffic, valid and eval that is worded in the new way."""
    rng = np.random.default_rng(seed)
    by_intent: dict[str, list[Utterance]] = defaultdict(list)
    for row in rows:
        assert row.frame is not None
        by_intent[row.frame.intent].append(row)
    dealt = Drifted([], [[] for _ in range(laps)], [], [])
    for intent in sorted(by_intent):
        old, new = _two_wordings(by_intent[intent], seed)
        old, new = [old[i] for i in rng.permutation(len(old))], [new[i] for i in rng.permutation(len(new))]
        dealt.seeds.extend(old[:seeds_an_intent])
        old = old[seeds_an_intent:]

        def take(count: int, old: list[Utterance] = old, new: list[Utterance] = new) -> list[Utterance]:
            fresh = min(round(count * drift), len(new))
            taken = [new.pop() for _ in range(fresh)] + [old.pop() for _ in range(min(count - fresh, len(old)))]
            return taken

        dealt.valid.extend(take(checked_an_intent))
        dealt.evaluation.extend(take(checked_an_intent))
        for lap in dealt.traffic:
            lap.extend(take(requests_a_lap // len(by_intent)))
    for lap in dealt.traffic:
        lap[:] = [lap[i] for i in rng.permutation(len(lap))]
    return dealt


def _two_wordings(rows: list[Utterance], seed: int) -> tuple[list[Utterance], list[Utterance]]:
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    matrix = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True).fit_transform([_masked(row) for row in rows])
    axes = TruncatedSVD(20, random_state=seed).fit_transform(matrix)
    part = KMeans(2, n_init=4, random_state=seed).fit_predict(axes)
    parts = [[row for row, mine in zip(rows, part, strict=True) if mine == side] for side in (0, 1)]
    larger, smaller = sorted(parts, key=len, reverse=True)
    return larger, smaller


def _masked(row: Utterance) -> str:
    text = row.text
    for slot in reversed(row.frame.slots if row.frame else ()):
        text = text[: slot.start] + f" xx{slot.name}xx " + text[slot.end :]
    return text


def _slots(text: str, tokens: list[str], marks: list[str]) -> tuple[Slot, ...]:
    spans: list[tuple[str, int, int]] = []
    at = 0
    for token, mark in zip(tokens, marks, strict=True):
        if mark.startswith("B-"):
            spans.append((_slug(mark[2:]), at, at + len(token)))
        elif mark.startswith("I-") and spans:
            spans[-1] = (spans[-1][0], spans[-1][1], at + len(token))
        at += len(token) + 1
    return tuple(Slot(name=name, value=text[start:end], start=start, end=end) for name, start, end in spans)


def _slug(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
