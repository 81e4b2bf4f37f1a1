"""Folders of the shape of few-shot-intent: ``SPLIT/seq.in`` and ``SPLIT/label``, a row a line; and labels that are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kickwheel.errors import InputError

SHOTS = 5


@dataclass(frozen=True)
class Split:
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]


def read_split(folder: Path, name: str) -> Split:
    """One split.

    Raises:
        InputError: a file is missing, or texts and labels differ in number.
    """
    files = [folder / name / part for part in ("seq.in", "label")]
    for file in files:
        if not file.is_file():
            raise InputError("there is no such file: expected SPLIT/seq.in and SPLIT/label, a row a line", file=file)
    texts, labels = (file.read_text(encoding="utf-8").rstrip("\n").split("\n") for file in files)
    if len(texts) != len(labels):
        raise InputError(f"{len(texts)} texts, but {len(labels)} labels", file=files[1])
    return Split(texts, [label.strip() for label in labels])


@dataclass
class Reviewer:
    """Plays the person who labels: tells a row's gold label, and counts every row that it was asked about."""

    gold: Sequence[str]
    asked: dict[int, str] = field(default_factory=dict)

    def label(self, rows: Iterable[int]) -> None:
        """Pay for the labels of rows of the pool."""
        for row in rows:
            self.asked[row] = self.gold[row]

    @property
    def human_labels(self) -> int:
        """Rows whose gold label was used, seeds included."""
        return len(self.asked)


def seed_rows(folder: Path, train: Split, seed: int, shots: int = SHOTS) -> list[int]:
    """Rows of ``train`` to start from, ``shots`` an intent: seed 0 takes ``train_5`` as far as there is one, others draw.

    Raises:
        InputError: a row of ``train_5`` is not in ``train``.
    """
    published = folder / f"train_{shots}"
    if seed == 0 and published.is_dir():
        places: dict[tuple[str, str], list[int]] = {}
        for row, pair in enumerate(zip(train.texts, train.labels, strict=True)):
            places.setdefault(pair, []).append(row)
        chosen = read_split(folder, published.name)
        pairs = list(zip(chosen.texts, chosen.labels, strict=True))
        for line, pair in enumerate(pairs, start=1):
            if not places.get(pair):
                raise InputError("this row is not among those of train", file=published / "seq.in", line=line)
        return [places[pair].pop(0) for pair in pairs]
    rng = np.random.default_rng(seed)
    labels = np.array(train.labels)
    return [
        int(row) for intent in sorted(set(train.labels)) for row in rng.permutation(np.flatnonzero(labels == intent))[:shots]
    ]
