"""1,000 simulated A/B tests without any difference, looked at after every event: how often is a winner declared?

    python -m benchmarks.ab_null --json

Units are simulated users with one to many events each; a unit's completion rate is drawn from a Beta distribution, so that its
events hang together as real ones do. The same stream is judged by the confidence sequence of the product
(:mod:`kickwheel.distillation.sequential`) and by a fixed-horizon z-test on units, looked at as often. A second stream has a
real difference: how often, and after how many units, is it found?
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kickwheel.distillation.sequential import radius, tightest_at
from kickwheel.settings import TrialSettings

NEW_UNIT = 0.4
"""Chance that an event is a new unit's first one: 2.5 events a unit."""
CONCENTRATION = 4.0
"""Of the Beta distribution of units' completion rates: standard deviation 0.2 at a mean of 0.7."""


@dataclass
class Found:
    """Looks of many tests in step: the units at which each was decided, and which way."""

    units: NDArray[np.int64]
    sign: NDArray[np.int8]

    @classmethod
    def none(cls, tests: int) -> Found:
        """Nothing decided yet."""
        return cls(np.zeros(tests, np.int64), np.zeros(tests, np.int8))

    def note(self, decided: NDArray[np.bool_], difference: NDArray[np.float64], units: NDArray[np.int64]) -> None:
        """A test is decided once: what comes afterwards changes nothing."""
        fresh = decided & (self.sign == 0)
        self.units[fresh] = units[fresh]
        self.sign[fresh] = np.sign(difference[fresh]).astype(np.int8)


def simulate(tests: int, events: int, champion: float, challenger: float, settings: TrialSettings, seed: int) -> dict[str, Any]:
    """Run ``tests`` trials of ``events`` events each in step and look after each event."""
    rng = np.random.default_rng(seed)
    every = np.arange(tests)
    most = int(events * NEW_UNIT * 1.2) + 100
    arm = (rng.random((tests, most)) < 0.5).astype(np.int8)  # 1: challenger
    means = np.where(arm == 1, challenger, champion)
    rates = rng.beta(means * CONCENTRATION, (1 - means) * CONCENTRATION).astype(np.float32)
    done, seen = np.zeros((tests, most), np.int16), np.zeros((tests, most), np.int16)
    units = np.zeros(tests, np.int64)
    count, total, squares = (np.zeros((2, tests)) for _ in range(3))
    alpha = settings.alpha
    rho = tightest_at(settings.planned_units, alpha)
    threshold = stats.norm.ppf(1 - alpha / 2)
    always, peeking = Found.none(tests), Found.none(tests)
    for _ in range(events):
        fresh = (rng.random(tests) < NEW_UNIT) | (units == 0)
        unit = np.where(fresh, units, (rng.random(tests) * units).astype(np.int64))
        units += fresh
        side = arm[every, unit]
        before = np.where(fresh, 0.0, done[every, unit] / np.maximum(seen[every, unit], 1))
        done[every, unit] += rng.random(tests) < rates[every, unit]
        seen[every, unit] += 1
        after = done[every, unit] / seen[every, unit]
        count[side, every] += fresh
        total[side, every] += after - before
        squares[side, every] += after**2 - before**2
        ready = count.min(axis=0) >= settings.least_units
        if not ready.any():
            continue
        size = np.maximum(count, 2)
        mean = total / size
        variance = np.maximum(squares - total**2 / size, 0) / (size - 1)
        spread = (variance / size).sum(axis=0)
        difference = mean[1] - mean[0]
        always.note(ready & (np.abs(difference) > radius(size.sum(axis=0), spread, alpha=alpha, rho=rho)), difference, units)
        peeking.note(ready & (np.abs(difference) > threshold * np.sqrt(spread)), difference, units)
    last = np.abs(difference) > threshold * np.sqrt(spread)
    return {
        "tests": tests,
        "events_a_test": events,
        "units_a_test": float(units.mean()),
        "completion": {"champion": champion, "challenger": challenger},
        "sequential": _shares(always),
        "fixed_horizon_peeking": _shares(peeking),
        "fixed_horizon_one_look": {
            "any_winner": float(last.mean()),
            "challenger_wins": float((last & (difference > 0)).mean()),
        },
    }


def _shares(found: Found) -> dict[str, Any]:
    decided = found.units[found.sign > 0]
    low, high = stats.binomtest(int((found.sign > 0).sum()), len(found.sign)).proportion_ci(method="wilson")
    return {
        "any_winner": float((found.sign != 0).mean()),
        "challenger_wins": float((found.sign > 0).mean()),
        "challenger_wins_interval": [float(low), float(high)],
        "median_units_to_win": float(np.median(decided)) if len(decided) else None,
    }


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Simulate the null and a real difference, and print both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--events", type=int, default=10_000, help="events a test")
    parser.add_argument("--completion", type=float, default=0.70, help="completion rate of the champion")
    parser.add_argument("--gain", type=float, default=0.05, help="of the challenger, in the second stream")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args(arguments)
    settings = TrialSettings()
    started = time.monotonic()
    null = simulate(options.tests, options.events, options.completion, options.completion, settings, options.seed)
    real = simulate(
        options.tests, options.events, options.completion, options.completion + options.gain, settings, options.seed + 1
    )
    result = {
        "benchmark": "ab_null",
        "alpha": settings.alpha,
        "planned_units": settings.planned_units,
        "least_units_an_arm": settings.least_units,
        "null": null,
        "real_difference": real,
        "seconds": round(time.monotonic() - started, 1),
    }
    sys.stdout.write(json.dumps(result, indent=None if options.json else 1) + "\n")
    return result


if __name__ == "__main__":
    main()
