"""What became of each intent between two students: exact McNemar tests on its rows, Holm's correction over the intents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy.stats import binomtest

from schemas.frame import Prediction
from schemas.utterance import Utterance

LEVEL = 0.05


@dataclass(frozen=True)
class IntentChange:
    """One intent's rows answered by two students.

    Args:
        before, after: joint frame accuracy of the first and the second student.
        won, lost: rows that only the second, or only the first got right.
        p_value: exact one-sided McNemar test of "worse", Holm-adjusted over all intents.
    """

    intent: str
    rows: int
    before: float
    after: float
    won: int
    lost: int
    p_value: float

    @property
    def significantly_worse(self) -> bool:
        """Whether the fall is more than chance, the number of intents looked at taken into account."""
        return self.p_value < LEVEL


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (Holm 1979), in the order given: the family-wise level holds under any dependence."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def intent_changes(gold: Sequence[Utterance], before: Sequence[Prediction], after: Sequence[Prediction]) -> list[IntentChange]:
    """One entry an intent of the gold rows, by name.

    Raises:
        ValueError: not one prediction a row.
    """
    pairs: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for row, old, new in zip(gold, before, after, strict=True):
        if row.frame is not None:
            pairs[row.frame.intent].append((old.frame == row.frame, new.frame == row.frame))
    counted: list[IntentChange] = []
    for intent in sorted(pairs):
        seen = pairs[intent]
        won, lost = sum(new and not old for old, new in seen), sum(old and not new for old, new in seen)
        p_value = float(binomtest(lost, won + lost, alternative="greater").pvalue) if won + lost else 1.0
        old_share, new_share = (sum(pair[side] for pair in seen) / len(seen) for side in (0, 1))
        counted.append(IntentChange(intent, len(seen), old_share, new_share, won, lost, p_value))
    adjusted = holm([item.p_value for item in counted])
    return [replace(item, p_value=p) for item, p in zip(counted, adjusted, strict=True)]
