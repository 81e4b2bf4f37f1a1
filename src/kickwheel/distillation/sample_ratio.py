"""Whether the arms got the units that they were to get: a split that should not have come about makes any verdict worthless."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import stats

ALARM = 0.001
"""Level of the check: low, for it is a smoke detector that runs at every look (Fabijan et al., KDD 2019)."""


def sample_ratio_p(units: Sequence[int], first_share: float) -> float:
    """p-value of a split of units into two arms, chi-square test against the share that the first was to get.

    A share of 0 or 1 allows no other split: p is then 1 or 0.
    """
    expected = [sum(units) * first_share, sum(units) * (1 - first_share)]
    if not all(expected):
        return float(list(units) == expected)
    return float(stats.chisquare(list(units), expected).pvalue)
