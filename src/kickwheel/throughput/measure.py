"""The measurement of a stage: an arm's largest rate, other arms under the same load in alternating order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.load_shape import describe_load, put_load
from kickwheel.throughput.search import largest_rate
from schemas.throughput import Burst, LoadPoint, LoadShape, RateSearch, ThroughputReport


def measure_load(
    bench: Bench, arm: Arm, shape: LoadShape, *, burst: Burst | None = None, words: Mapping[str, Any]
) -> ThroughputReport:
    """One load test of any shape, after the arm was asked one request at a time. A server that dies is a result.

    Args:
        words: what else the report says: server, engine_settings, startup_s, warmup_s, cores.
    """
    unloaded = bench.without_load(arm)
    died = f"the model server died before there was any load ({arm.name})" if unloaded.server_died else ""
    points = () if died else put_load(bench, arm, shape)
    if any(point.server_died for point in points):
        died = f"the model server died under {describe_load(shape)} ({arm.name})"
    return ThroughputReport(
        measured=not died,
        not_measured_reason=died or None,
        slo=bench.settings.slo,
        points=points,
        unloaded=(unloaded,),
        burst=burst,
        load=describe_load(shape),
        **words,
    )


@dataclass
class Measurement:
    """What was measured so far."""

    points: list[LoadPoint] = field(default_factory=list)
    unloaded: list[LoadPoint] = field(default_factory=list)
    search: RateSearch | None = None
    died: str = ""


def measure(
    bench: Bench,
    arm: Arm,
    beside: Sequence[Arm] = (),
    *,
    server: str = "",
    engine_settings: Mapping[str, str] | None = None,
    startup_s: float | None = None,
    warmup_s: float | None = None,
    burst: Burst | None = None,
    cores: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> ThroughputReport:
    """Search the largest rate of ``arm``; at each of its rates ``beside`` get the same rows at the same times.

    The order of the arms turns from rate to rate, so that a machine that grows slower or warmer does not favour one. A server
    that dies ends the measurement: the report says so and keeps the points there are.

    Args:
        beside: arms without lengths of their own are made to write as much as the arm's replies have on average. An untuned
            base writes on up to the limit: the comparison would be one of lengths, not of weights.
        server, engine_settings, startup_s, warmup_s, burst, cores: passed on into the report.
        progress: called with steps done and most steps.
    """
    settings = bench.settings
    so_far = Measurement()
    arms = (arm, *beside)
    most = settings.max_points

    def told(done: int) -> None:
        if progress is not None:
            progress(min(done, most), most)

    def at_rate(rate: float) -> LoadPoint:
        turn = len(so_far.points) // len(arms)
        order = arms if turn % 2 == 0 else tuple(reversed(arms))
        mine: LoadPoint | None = None
        for one in order:
            point = bench.at_rate(one, rate)
            so_far.points.append(point)
            if one is arm:
                mine = point
            if point.server_died:
                so_far.died = f"the model server died at {rate:.4g} requests/s ({one.name})"
                return point
        told(len(so_far.points) // len(arms))
        assert mine is not None  # noqa: S101
        return mine

    unloaded = bench.without_load(arm)
    so_far.unloaded.append(unloaded)
    if unloaded.server_died:
        so_far.died = f"the model server died before there was any load ({arm.name})"
    for one in beside:
        one.fixed_tokens = one.fixed_tokens or arm.reply_tokens
    search = largest_rate(
        at_rate,
        settings.slo,
        start=settings.start_rate,
        tolerance=settings.tolerance,
        highest=settings.highest_rate,
        lowest=min(0.05, settings.start_rate),
        max_points=settings.max_points,
        unloaded=unloaded,
        arm=arm.name,
    )
    told(most)
    return ThroughputReport(
        measured=not so_far.died,
        not_measured_reason=so_far.died or None,
        server=server,
        engine_settings=dict(engine_settings or {}),
        startup_s=startup_s,
        warmup_s=warmup_s,
        slo=settings.slo,
        points=tuple(so_far.points),
        unloaded=tuple(so_far.unloaded),
        searches=(search,),
        burst=burst,
        cores=cores,
    )
