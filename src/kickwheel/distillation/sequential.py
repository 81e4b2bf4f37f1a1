"""A confidence sequence for the difference of two means: valid at every look, so that a trial may be watched while it runs.

A fixed-horizon test looked at again and again finds a winner sooner or later (Johari, Pekelis and Walsh 2015, arXiv 1512.04922:
"always valid inference"). Here an interval is drawn after each observation such that *all* of them together hold the true
difference with probability 1 - alpha. It is the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and
Ramdas (Annals of Statistics 2024, arXiv 2103.06476, theorem 2.2), Robbins' normal mixture with estimated variance:

    radius = sd * sqrt( 2 (n rho^2 + 1) / (n^2 rho^2) * log( sqrt(n rho^2 + 1) / alpha ) )

with n units of both arms together and sd^2 = n (s_1^2 / n_1 + s_0^2 / n_0). ``rho`` is chosen so that the interval is tightest
around a number of units that the caller names (their equation 10); it is valid at all others too.

Own code, since what there is stands still: confseq (last release January 2023, a C++ extension), expan (2019). Its error under
continuous peeking is measured by ``benchmarks/ab_null.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", float, NDArray[np.float64])


@dataclass(frozen=True)
class ArmSums:
    """Units of one arm, each counted once by its mean outcome: how many, their sum, and the sum of their squares."""

    units: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        """Mean over units; 0 without any."""
        return self.total / self.units if self.units else 0.0

    @property
    def variance(self) -> float:
        """Unbiased variance over units; 0 below two."""
        if self.units < 2:
            return 0.0
        return max(0.0, (self.squares - self.total**2 / self.units) / (self.units - 1))


@dataclass(frozen=True)
class Interval:
    """Difference of means, first arm minus second, with its bounds at this look."""

    difference: float
    low: float
    high: float


def tightest_at(units: float, alpha: float) -> float:
    """rho for which the interval is tightest around ``units``."""
    log = -2 * math.log(alpha)
    return math.sqrt((log + math.log(log + 1)) / units)


def radius(units: Number, mean_variance: Number, *, alpha: float, rho: float) -> Number:
    """Half width of the interval. ``units``: of both arms together; ``mean_variance``: s_1^2 / n_1 + s_0^2 / n_0.

    Numbers or arrays of them, elementwise.
    """
    grown = units * rho**2 + 1
    scale = 2 * grown / (units**2 * rho**2) * np.log(np.sqrt(grown) / alpha)
    result: Number = np.sqrt(units * mean_variance * scale)
    return result


def interval(first: ArmSums, second: ArmSums, *, alpha: float, planned_units: int, least_units: int) -> Interval | None:
    """The interval now; None below ``least_units`` in an arm, where the estimated variance is not to be trusted."""
    if min(first.units, second.units) < max(2, least_units):
        return None
    spread = first.variance / first.units + second.variance / second.units
    half = float(radius(float(first.units + second.units), spread, alpha=alpha, rho=tightest_at(planned_units, alpha)))
    difference = first.mean - second.mean
    return Interval(difference, difference - half, difference + half)
