"""Task accuracy under load: whether the replies of a hurried server are as right as those of an idle one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scipy.stats import binomtest

from kickwheel.inference.frame_codec import decode_frame
from kickwheel.throughput.ports import Sample
from schemas.task import TaskCatalog
from schemas.throughput import AccuracyUnderLoad
from schemas.utterance import Utterance

Right = dict[str, bool]
"""Whether the whole frame of a row's reply was right, by the row's id."""

CHANCE = 0.05
"""One-sided p-value above which rows lost under load may be chance."""


def right_frames(rows: Sequence[Utterance], samples: Sequence[Sample], catalog: TaskCatalog) -> Right:
    """Rows that were answered. A row asked more than once counts with its last reply: the queue is longest then."""
    return {
        row.id: decode_frame(row.text, sample.text, catalog, finish_reason=sample.finish_reason).frame == row.frame
        for row, sample in zip(rows, samples, strict=False)
        if sample.error is None
    }


def under_load(loaded: Right, unloaded: Right) -> AccuracyUnderLoad | None:
    """The same rows with and without load, each once; None where no row was answered both times."""
    rows = [row for row in loaded if row in unloaded]
    if not rows:
        return None
    before, after = sum(unloaded[row] for row in rows), sum(loaded[row] for row in rows)
    return AccuracyUnderLoad(
        rows=len(rows),
        loaded=after / len(rows),
        unloaded=before / len(rows),
        lost=sum(unloaded[row] and not loaded[row] for row in rows),
        won=sum(loaded[row] and not unloaded[row] for row in rows),
        ratio=after / before if before else None,
    )


def may_be_chance(accuracy: AccuracyUnderLoad) -> bool:
    """Whether so many rows lost, against so many won, tell nothing: exact one-sided McNemar (sign) test.

    A batch of another size rounds otherwise, so that single replies flip both ways without any harm done. Judged by the ratio
    alone, a search would end at a coin's toss.
    """
    flipped = accuracy.lost + accuracy.won
    return flipped == 0 or binomtest(accuracy.lost, flipped, 0.5, alternative="greater").pvalue > CHANCE


def mean_tokens(samples: Sequence[Sample], otherwise: Mapping[str, int] | None = None) -> int:
    """Mean length of the replies by the server's own count, rounded, at least 1; 0 where none was answered."""
    lengths = [sample.completion_tokens for sample in samples if sample.error is None]
    return max(1, round(sum(lengths) / len(lengths))) if lengths else 0
