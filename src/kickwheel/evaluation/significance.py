"""Intervals and paired tests: what a difference on a few hundred rows is worth."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.stats import binomtest

from schemas.frame import Prediction
from schemas.quality import PairedTest
from schemas.utterance import Utterance


def wilson(successes: int, rows: int) -> tuple[float, float]:
    """95 % Wilson score interval of a share (Wilson 1927); (0, 1) where there are no rows."""
    if rows == 0:
        return 0.0, 1.0
    interval = binomtest(successes, rows).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def mcnemar(gold: Sequence[Utterance], first: Sequence[Prediction], second: Sequence[Prediction]) -> PairedTest:
    """Exact two-sided McNemar test on joint frames (McNemar 1947; the binomial form, right for few discordant rows).

    Raises:
        ValueError: not one prediction a row.
    """
    pairs = [(a.frame == row.frame, b.frame == row.frame) for row, a, b in zip(gold, first, second, strict=True)]
    wins = sum(a and not b for a, b in pairs)
    losses = sum(b and not a for a, b in pairs)
    p_value = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return PairedTest(wins=wins, losses=losses, p_value=p_value)
