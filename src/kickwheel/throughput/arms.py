"""Arms under the same load in alternating order, and what their ratios say. It knows nothing of servers.

A machine drifts: it warms up, others use it. So arms are measured in blocks, each block once through all arms, every other one
backwards, and an arm is compared with another within the block, where both saw about the same machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from scipy.stats import t

from schemas.engine import ArmFigures, ArmName, Ratio
from schemas.throughput import LoadPoint, Percentiles

Figure = Literal["rate", "p50_ms", "p99_ms"]
FIGURES: tuple[Figure, ...] = ("rate", "p50_ms", "p99_ms")
CONFIDENCE = 0.95

WORTH = 1.05
"""Merged weights must be certain to give so many times the adapter's rate: they cost a second server for each promotion."""


@dataclass(frozen=True)
class Block:
    """One arm in one block: all requests at once, then the offered rate."""

    arm: ArmName
    block: int
    at_once: LoadPoint
    at_rate: LoadPoint

    def figure(self, name: Figure) -> float | None:
        """The block's figure; None where nothing was answered."""
        if name == "rate":
            return self.at_once.achieved_rate or None
        return self.at_rate.latency_ms.p50 if name == "p50_ms" else self.at_rate.latency_ms.p99


def order(arms: Sequence[ArmName], block: int) -> tuple[ArmName, ...]:
    """Order of the arms in a block, counted from 0: forwards, backwards, forwards …: what drifts in a line cancels."""
    return tuple(arms) if block % 2 == 0 else tuple(reversed(arms))


def measure_blocks(
    arms: Sequence[ArmName],
    blocks: int,
    measure: Callable[[ArmName, int], Block],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Block]:
    """Every arm in every block, in alternating order; ``measure`` may take what an earlier try has measured from a log."""
    steps = [(arm, block) for block in range(blocks) for arm in order(arms, block)]
    found = []
    for done, (arm, block) in enumerate(steps):
        found.append(measure(arm, block))
        if progress is not None:
            progress(done + 1, len(steps))
    return found


def ratio(blocks: Sequence[Block], of: ArmName, over: ArmName, figure: Figure) -> Ratio | None:
    """Geometric mean of the blocks' ratios, with Student's interval on their logarithms; None without a whole pair."""
    by_block: dict[int, dict[ArmName, float]] = {}
    for block in blocks:
        value = block.figure(figure)
        if value is not None:
            by_block.setdefault(block.block, {})[block.arm] = value
    logs = [math.log(pair[of] / pair[over]) for pair in by_block.values() if of in pair and over in pair]
    if not logs:
        return None
    mean = fmean(logs)
    low = high = None
    if len(logs) > 1:
        half = float(t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1)) * stdev(logs) / math.sqrt(len(logs))
        low, high = math.exp(mean - half), math.exp(mean + half)
    return Ratio(of=of, over=over, figure=figure, ratio=math.exp(mean), low=low, high=high, blocks=len(logs))


def ratios(blocks: Sequence[Block], arms: Sequence[ArmName]) -> tuple[Ratio, ...]:
    """Every arm over ``base``, every other arm over ``adapter``; where base was not measured, over the first arm only."""
    unders: tuple[ArmName, ...] = ("base", "adapter")
    pairs = [(arm, under) for under in unders for arm in arms if under in arms and arm not in ("base", under)]
    if "base" not in arms:
        pairs += [(arm, arms[0]) for arm in arms[1:] if (arm, arms[0]) not in pairs]
    found = (ratio(blocks, of, over, figure) for of, over in pairs for figure in FIGURES)
    return tuple(item for item in found if item is not None)


def arm_figures(blocks: Sequence[Block], arm: ArmName) -> ArmFigures:
    """An arm over its blocks: mean rate; of the percentiles the median over blocks, since raw samples are not kept."""
    mine = [block for block in blocks if block.arm == arm]
    errors: Counter[str] = Counter()
    for block in mine:
        errors.update(block.at_once.errors)
        errors.update(block.at_rate.errors)
    return ArmFigures(
        arm=arm,
        rate=fmean([block.at_once.achieved_rate for block in mine]),
        latency_ms=_middle([block.at_rate.latency_ms for block in mine]),
        ttft_ms=_middle([block.at_rate.ttft_ms for block in mine]),
        requests=sum(block.at_once.sent + block.at_rate.sent for block in mine),
        errors=dict(errors),
    )


def recommend(
    found: Sequence[Ratio], adapters: int, errors: Mapping[str, int] | None = None
) -> tuple[Literal["merged", "adapter", "not decided"], str]:
    """Whether to serve merged weights or the adapter, and why in a sentence.

    Several adapters on one server can't be merged into one model. Of one, merged weights are worth their price (a second
    server while they are promoted, memory of the whole model for each version) only where they are certainly faster.
    """
    if errors:
        kinds = ", ".join(f"{count} x {kind}" for kind, count in errors.items())
        return "not decided", f"requests failed ({kinds}): the arms did not do the same work"
    if adapters > 1:
        return "adapter", f"{adapters} adapters share one server; merged, each would need a server of its own"
    pair = next((item for item in found if (item.of, item.over, item.figure) == ("merged", "adapter", "rate")), None)
    if pair is None:
        return "not decided", "merged and adapter were not both measured"
    said = f"merged weights give {pair.ratio:.2f} times the adapter's rate"
    if pair.low is None or pair.high is None:
        return "not decided", f"{said}, in one block: no interval, so it may be chance"
    said += f" (95 % interval {pair.low:.2f} to {pair.high:.2f}, {pair.blocks} blocks)"
    if pair.low >= WORTH:
        return "merged", f"{said}: worth the second server that their promotion takes"
    if pair.high < WORTH:
        return "adapter", f"{said}: not worth it; an adapter is loaded on the running server in a moment"
    return "adapter", f"{said}: not certainly {WORTH:g} times or more, and an adapter is the cheaper to promote"


def _middle(points: Sequence[Percentiles]) -> Percentiles:
    def median(name: str) -> float | None:
        values = sorted(value for point in points if (value := getattr(point, name)) is not None)
        return values[len(values) // 2] if values else None

    return Percentiles(p50=median("p50"), p90=median("p90"), p95=median("p95"), p99=median("p99"))
