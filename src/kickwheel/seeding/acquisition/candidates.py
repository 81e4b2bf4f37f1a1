"""Pool rows as acquisition sees them: columns of numbers beside ids, never their texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kickwheel.errors import StageFailed
from kickwheel.seeding.acquisition.uncertainty import Scores

Positions = NDArray[np.intp]
Embed = Callable[[Positions], NDArray[np.float32]]


@dataclass(frozen=True)
class Candidates:
    """Unlabelled rows, a position each.

    Args:
        ids: different from one another.
        entropy, margin: see :mod:`~kickwheel.seeding.acquisition.uncertainty`.
        predicted: the likeliest intent of each row, an index into ``intents``.
        spans: how unsure the student is of its slots, in [0, 1]; None: it has none.
        embed: vectors of the rows at some positions; called once, for a shortlist. None: there are no vectors.
        labelled: labelled rows of each intent so far.

    Raises:
        StageFailed: two rows have one id, columns differ in length, a score is no number from 0 to 1.
    """

    ids: Sequence[str]
    entropy: Scores
    margin: Scores
    predicted: Positions
    intents: Sequence[str]
    spans: Scores | None = None
    embed: Embed | None = None
    labelled: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.ids)) != len(self.ids):
            raise StageFailed("two rows of the pool have the same id: give every row an id of its own")
        if len(self.predicted) != len(self.ids):
            raise StageFailed(f"{len(self.ids)} rows of the pool, but {len(self.predicted)} predicted intents")
        for name, column in (("entropy", self.entropy), ("margin", self.margin), ("spans", self.spans)):
            if column is not None:
                self._check(name, column)

    def __len__(self) -> int:
        return len(self.ids)

    def joint(self, entropy_weight: float) -> Scores:
        """Weighted sum of entropy and margin."""
        return entropy_weight * self.entropy + (1.0 - entropy_weight) * self.margin

    @cached_property
    def id_rank(self) -> Positions:
        """Place of each row in the order of ids, so that no choice depends on the order of the pool."""
        rank = np.empty(len(self), dtype=np.intp)
        rank[self.by_id] = np.arange(len(self))
        return rank

    @cached_property
    def by_id(self) -> Positions:
        """Positions in the order of ids."""
        return np.array(sorted(range(len(self)), key=self.ids.__getitem__), dtype=np.intp)

    def ranked(self, scores: Scores) -> Positions:
        """Positions from the highest score down; ties go by id."""
        return np.lexsort((self.id_rank, -scores))

    def without(self, ids: Collection[str]) -> Candidates:
        """The rows whose ids are not among ``ids``."""
        taken = frozenset(ids)
        if taken.isdisjoint(self.ids):
            return self
        keep = np.array([i for i, row in enumerate(self.ids) if row not in taken], dtype=np.intp)
        embed = self.embed
        return replace(
            self,
            ids=[self.ids[i] for i in keep],
            entropy=self.entropy[keep],
            margin=self.margin[keep],
            predicted=self.predicted[keep],
            spans=None if self.spans is None else self.spans[keep],
            embed=None if embed is None else lambda positions: embed(keep[positions]),
        )

    def _check(self, name: str, column: Scores) -> None:
        if len(column) != len(self.ids):
            raise StageFailed(f"{len(self.ids)} rows of the pool, but {len(column)} scores of {name}")
        wrong = np.flatnonzero(~((column >= 0.0) & (column <= 1.0)))
        if len(wrong):
            row = int(wrong[0])
            raise StageFailed(
                f"pool row {self.ids[row]!r}: its {name} is {column[row]}, expected a number from 0 to 1: the student that "
                "scores the pool is broken, train it again"
            )
