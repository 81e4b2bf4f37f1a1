"""Plots of single load steps: how latencies are spread, and how queue and rate went on during a step."""

from __future__ import annotations

from typing import Final

from matplotlib.figure import Figure

from kickwheel.reporting.palette import LIGHT
from kickwheel.reporting.svg import WIDTH, draw, quiet
from kickwheel.reporting.wording import number
from schemas.throughput import LoadPoint, ThroughputReport

_LINES: Final = ("-", "--", "-.", ":")


def chosen_steps(throughput: ThroughputReport) -> list[LoadPoint]:
    """Of the arm that was searched: no load, the largest rate that held, and the smallest that missed; those there are.

    Of one load test: no load, and the whole test.
    """
    if not throughput.searches:
        return [*throughput.unloaded[:1], *throughput.points[:1]] if throughput.load else []
    search = throughput.searches[0]
    mine = [point for point in throughput.points if point.arm == search.arm]
    steps = [point for point in throughput.unloaded if point.arm == search.arm][:1]
    for rate in (search.largest_rate, search.first_miss):
        steps += [point for point in mine if rate and abs(point.offered_rate - rate) < 1e-6 * rate][-1:]
    return steps


def named(point: LoadPoint) -> str:
    """The step in a legend."""
    rate = f"{number(round(point.offered_rate, 2))} req/s" if point.steady else point.schedule
    return f"{rate}{'' if point.holds_slo or not point.offered_rate else ', missed'}"


def cdf_plot(throughput: ThroughputReport) -> str:
    """Share of requests that were done within a time, for the chosen steps."""
    steps = [step for step in chosen_steps(throughput) if step.quantiles_ms]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for step, line, colour in zip(steps, _LINES, ("grey", "blue", "orange"), strict=False):
            shares = [100 * index / (len(step.quantiles_ms) - 1) for index in range(len(step.quantiles_ms))]
            axes.plot([value / 1000 for value in step.quantiles_ms], shares, color=LIGHT[colour], ls=line, label=named(step))
        if throughput.slo.p99_ms:
            axes.axvline(throughput.slo.p99_ms / 1000, color=LIGHT["red"], linewidth=1.2)
        axes.set_xlim(left=0)
        axes.set_ylim(0, 101)
        axes.set_xlabel("seconds from the scheduled send time to the end of the reply")
        axes.set_ylabel("% of requests")
        figure.legend(loc="outside lower left", ncols=3, handlelength=3)
        quiet(axes)

    last = steps[-1]
    half = last.latency_ms.p50
    said = f"half of the requests within {half / 1000:.2f} s" if half is not None else "no request answered"
    return draw("load-cdf", f"At {named(last)}: {said}", (WIDTH, 2.9), paint)


def timeline_plot(throughput: ThroughputReport) -> str:
    """Requests under way and waiting, and replies a second, over the last of the chosen steps."""
    step = next(step for step in reversed(chosen_steps(throughput)) if len(step.timeline) > 1)
    at = [moment.at_s for moment in step.timeline]

    def paint(figure: Figure) -> None:
        above, below = figure.subplots(2, sharex=True)
        above.plot(at, [moment.in_flight for moment in step.timeline], color=LIGHT["blue"], label="under way")
        waiting = [(moment.at_s, moment.waiting) for moment in step.timeline if moment.waiting is not None]
        if waiting:
            above.plot(*zip(*waiting, strict=True), color=LIGHT["orange"], ls="--", label="wait in the server's queue")
        above.set_ylabel("requests")
        pairs = list(zip(step.timeline, step.timeline[1:], strict=False))
        seconds = [max(1e-3, after.at_s - before.at_s) for before, after in pairs]
        for what, colour, line in (("sent", "grey", ":"), ("finished", "blue", "-")):
            rates = [
                (getattr(after, what) - getattr(before, what)) / span
                for (before, after), span in zip(pairs, seconds, strict=True)
            ]
            below.plot(at[1:], rates, color=LIGHT[colour], ls=line, label=f"{what} a second")
        below.set_ylabel("a second")
        below.set_xlabel("seconds since the step began")
        for axes in (above, below):
            axes.set_ylim(bottom=0)
            quiet(axes)
        handles = [item for axes in (above, below) for item in axes.get_legend_handles_labels()[0]]
        figure.legend(handles=handles, loc="outside lower left", ncols=2, handlelength=3)

    most = max(moment.in_flight for moment in step.timeline)
    return draw("load-timeline", f"At {named(step)}: up to {most} requests under way", (WIDTH, 3.6), paint)


def has_timeline(throughput: ThroughputReport) -> bool:
    """Whether a chosen step lasted long enough to have one."""
    return any(len(step.timeline) > 1 for step in chosen_steps(throughput))


def has_cdf(throughput: ThroughputReport) -> bool:
    """Whether a chosen step has its quantiles: reports of older versions have not."""
    return any(step.quantiles_ms for step in chosen_steps(throughput))
