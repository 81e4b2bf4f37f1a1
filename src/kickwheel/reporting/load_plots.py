"""Plots of load: latency and achieved rate against the offered rate, base and adapter side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from kickwheel.reporting.palette import LIGHT
from kickwheel.reporting.svg import WIDTH, draw, quiet
from kickwheel.reporting.wording import number, rate
from schemas.throughput import LoadPoint, ThroughputReport

_PERCENTILES: Final = (("p99", "-", "o"), ("p95", "--", "s"), ("p50", ":", "^"))
_COLOURS: Final = {"base": "grey", "adapter": "blue", "merged": "green", "mixed": "orange"}
_SECONDS: Final = tuple(mantissa * 10.0**power for power in range(-3, 4) for mantissa in (1, 2, 5))


def arms_of(throughput: ThroughputReport) -> dict[str, list[LoadPoint]]:
    """Load points of each arm that were due at one rate each, base first, by offered rate."""
    arms: dict[str, list[LoadPoint]] = {}
    names = {point.arm for point in throughput.points if point.steady}
    for arm in sorted(names, key=lambda name: (name != "base", name != "adapter", name)):
        points = sorted(
            (point for point in throughput.points if point.arm == arm and point.steady), key=lambda point: point.offered_rate
        )
        if points:
            arms[arm] = points
    return arms


def latency_plot(throughput: ThroughputReport) -> str:
    """P50, P95 and P99 of the end-to-end latency in seconds (log scale), a panel an arm, with the SLO's line."""
    arms = arms_of(throughput)
    limit = throughput.slo.p99_ms / 1000 if throughput.slo.p99_ms else None

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(arms), sharey=True, sharex=True, squeeze=False)[0]
        for axes, (arm, points) in zip(panels, arms.items(), strict=True):
            _latency_panel(axes, points, _COLOURS.get(arm, "blue"))
            if limit is not None:
                axes.axhline(limit, color=LIGHT["red"], linewidth=1.2)
            axes.set_title(arm)
            axes.set_xlabel("offered requests a second")
            quiet(axes)
        if limit is not None:
            panels[0].annotate(
                f"SLO: P99 {number(limit)} s", (0, limit), (2, 3), xycoords=("axes fraction", "data"),
                textcoords="offset points", fontsize=8, color=LIGHT["red"],
            )  # fmt: skip
        low, high = panels[0].get_ylim()
        panels[0].set_ylim(low * 0.85, max(high, limit or high) * 1.35)
        panels[0].yaxis.set_major_locator(FixedLocator(list(_SECONDS)))
        panels[0].yaxis.set_minor_locator(NullLocator())
        panels[0].yaxis.set_major_formatter(lambda value, _: f"{value:g} s")
        handles, labels = panels[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=3, handlelength=3)

    held = ", the ".join(f"{arm} up to {rate(throughput.largest_rate(arm))}" for arm in reversed(arms))
    goal = "SLO held" if limit is None else f"P99 within {number(limit)} s"
    title = f"{goal}: the {held}".replace("up to none of the steps", "at none of the steps")
    return draw("latency", title, (WIDTH, 3.1), paint)


def _latency_panel(axes: Axes, points: Sequence[LoadPoint], colour: str) -> None:
    axes.set_yscale("log")
    for name, line, marker in _PERCENTILES:
        measured = [(point, getattr(point.latency_ms, name)) for point in points]
        shown = [(point, value / 1000) for point, value in measured if value is not None]
        axes.plot(
            [point.offered_rate for point, _ in shown], [seconds for _, seconds in shown],
            color=LIGHT[colour], ls=line, marker=marker, label=name.upper(),
        )  # fmt: skip
        void = [(point.offered_rate, seconds) for point, seconds in shown if point.void]
        axes.plot(*zip(*void, strict=True), **_hollow(marker, colour)) if void else None
    axes.set_xticks([point.offered_rate for point in points], [number(point.offered_rate) for point in points])


def achieved_plot(throughput: ThroughputReport) -> str:
    """Achieved against offered rate, with the line of a server that keeps up."""
    arms = arms_of(throughput)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        most = max(point.offered_rate for points in arms.values() for point in points)
        axes.plot([0, most], [0, most], color=LIGHT["muted"], linewidth=1, ls=(0, (2, 3)), label="keeps up")
        for arm, points in arms.items():
            colour, marker = _COLOURS.get(arm, "blue"), "s" if arm == "base" else "o"
            rates = [(point.offered_rate, point.achieved_rate) for point in points]
            axes.plot(*zip(*rates, strict=True), color=LIGHT[colour], marker=marker, label=arm)
            void = [(point.offered_rate, point.achieved_rate) for point in points if point.void]
            axes.plot(*zip(*void, strict=True), **_hollow(marker, colour)) if void else None
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel("offered requests a second")
        axes.set_ylabel("achieved")
        figure.legend(loc="outside lower left", ncols=3)
        quiet(axes)

    return draw("achieved", _achieved_title(arms), (WIDTH, 2.9), paint)


def _achieved_title(arms: dict[str, list[LoadPoint]]) -> str:
    last = {arm: points[-1] for arm, points in arms.items()}
    said = ", the ".join(f"{arm} answers {point.achieved_rate:.1f}" for arm, point in reversed(last.items()))
    return f"Of {number(max(point.offered_rate for point in last.values()))} requests offered a second the {said}"


def _hollow(marker: str, colour: str) -> dict[str, Any]:
    """A void step (the load generator was too slow) is drawn hollow."""
    return {"ls": "", "marker": marker, "color": LIGHT[colour], "markerfacecolor": LIGHT["surface"]}
