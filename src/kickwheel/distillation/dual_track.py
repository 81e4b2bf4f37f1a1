"""Offline metrics beside what the business sees, version by version, and whether the two go together (white paper F5).

Pearson's r with the interval of Fisher's z (1921), Spearman's rho with that of Bonett and Wright (Psychometrika 2000: the
standard error of z is sqrt((1 + rho^2 / 2) / (n - 3))). With fewer than four versions there is no interval, with fewer than
three no correlation. r below 0.3 says "decoupled": a better offline figure did not help users.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import stats

from schemas.dual_track import Correlation, DualTrack, VersionTrack

DECOUPLED = 0.3
"""The white paper's threshold."""

LEAST_VERSIONS = 3


def dual_track(versions: Sequence[VersionTrack]) -> DualTrack:
    """The table with its correlations: offline joint frame accuracy against each business figure, signs turned so that more
    is better. A version that was seen by nobody stands in the table and counts for nothing."""
    seen = [version for version in versions if version.cases]
    offline = [version.joint_frame_accuracy for version in seen]
    columns = {
        "task_completion": [version.task_completion for version in seen],
        "correction_rate": [-version.correction_rate for version in seen],
        "turns": [-version.turns for version in seen],
    }
    found = {name: correlation(offline, values) for name, values in columns.items()}
    main = found["task_completion"]
    alarm = main.pearson is not None and main.pearson < DECOUPLED
    word = "decoupled" if alarm else "coupled"
    note = f"not measured: {main.note}"
    if main.pearson is not None:
        note = f"{word}: r = {main.pearson:.2f} of joint frame accuracy and task completion over {main.versions} versions"
    return DualTrack(versions=tuple(versions), correlations=found, decoupled=alarm, note=note)


def correlation(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Both correlations with 95 % intervals; None with a note where they can't be told."""
    count = len(first)
    if count < LEAST_VERSIONS:
        return Correlation(versions=count, note=f"{count} versions, at least {LEAST_VERSIONS} are needed")
    if len(set(first)) == 1 or len(set(second)) == 1:
        return Correlation(versions=count, note="one of the two figures never changed")
    pearson = float(stats.pearsonr(first, second).statistic)
    spearman = float(stats.spearmanr(first, second).statistic)
    if count < LEAST_VERSIONS + 1:
        return Correlation(versions=count, pearson=pearson, spearman=spearman, note="too few versions for an interval")
    return Correlation(
        versions=count,
        pearson=pearson,
        pearson_interval=_interval(pearson, 1 / math.sqrt(count - 3)),
        spearman=spearman,
        spearman_interval=_interval(spearman, math.sqrt((1 + spearman**2 / 2) / (count - 3))),
    )


def _interval(value: float, error: float) -> tuple[float, float]:
    z = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, value)))
    half = float(stats.norm.ppf(0.975)) * error
    return math.tanh(z - half), math.tanh(z + half)
