"""Plots of the engine's measurements: settings by rate and P99, what a start is made of, arms against each other."""

from __future__ import annotations

from typing import Final

from matplotlib.figure import Figure

from kickwheel.reporting.palette import LIGHT
from kickwheel.reporting.svg import WIDTH, draw, quiet
from kickwheel.reporting.wording import number
from schemas.engine import ArmsReport, ColdStartReport, EngineReports, EngineSearchReport

_PHASES: Final = ("import", "configure", "engine", "weights", "compile", "kv_cache", "graphs", "serve", "first_token")
_FILLS: Final = ("blue", "orange", "grey", "green", "red")
_HATCHES: Final = ("", "////")


def engine_plots(reports: EngineReports) -> dict[str, str]:
    """Standalone SVG documents by file stem: engine_front, engine_cost, engine_arms, engine_starts; those with figures."""
    plots: dict[str, str] = {}
    if reports.search and any(trial.figures for trial in reports.search.trials):
        plots["engine_front"] = front_plot(reports.search)
        plots["engine_cost"] = cost_plot(reports.search)
    if reports.arms and any(item.figure == "rate" for item in reports.arms.ratios):
        plots["engine_arms"] = arms_plot(reports.arms)
    if reports.cold_start and any(start.phases for start in reports.cold_start.starts):
        plots["engine_starts"] = starts_plot(reports.cold_start)
    return plots


def front_plot(report: EngineSearchReport) -> str:
    """Every trial by its rate and its P99, numbered as in the table; the Pareto front is a line, the chosen one filled."""
    shown = [
        (trial, trial.figures.rate, trial.figures.latency_ms.p99)
        for trial in report.trials
        if trial.figures is not None and trial.figures.latency_ms.p99 is not None
    ]
    front = sorted((rate, p99) for trial, rate, p99 in shown if trial.on_front)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        if front:
            axes.plot(*zip(*front, strict=True), color=LIGHT["blue"], ls="--", linewidth=1.2, label="Pareto front")
        for trial, rate, p99 in shown:
            colour = LIGHT["blue"] if trial.on_front else LIGHT["grey"]
            fill = colour if trial.number == report.chosen else LIGHT["surface"]
            axes.plot([rate], [p99], ls="", marker="o", markersize=7, color=colour, markerfacecolor=fill)
            axes.annotate(str(trial.number), (rate, p99), (6, 4), textcoords="offset points", fontsize=8, color=LIGHT["ink"])
        axes.margins(0.12)
        axes.set_xlabel("requests a second, all at once")
        axes.set_ylabel("P99, ms")
        figure.legend(loc="outside lower left")
        quiet(axes)

    chosen = next((trial for trial in report.trials if trial.number == report.chosen), None)
    said = f"start {report.chosen}, {chosen.changed}, is chosen" if chosen else "none could be chosen"
    return draw("engine-front", f"{len(shown)} settings measured, {len(front)} on the front: {said}", (WIDTH, 2.9), paint)


def cost_plot(report: EngineSearchReport) -> str:
    """Price of 1,000 requests of each trial."""
    shown = [
        (f"{trial.number}: {trial.changed}", trial.figures.cost_per_1000, trial.number == report.chosen)
        for trial in report.trials
        if trial.figures is not None and trial.figures.cost_per_1000 is not None
    ]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        colours = [LIGHT["blue"] if chosen else LIGHT["grey"] for _, _, chosen in shown]
        axes.barh([name for name, _, _ in shown], [cost for _, cost, _ in shown], color=colours, height=0.6)
        axes.invert_yaxis()
        axes.set_xlabel(f"cost per 1,000 requests, at {number(report.price_per_hour)} an hour")
        quiet(axes, grid="x")

    costs = [cost for _, cost, _ in shown]
    said = f"1,000 requests cost {min(costs):.4f} to {max(costs):.4f}" if costs else "nothing was answered"
    return draw("engine-cost", said, (WIDTH, 0.9 + 0.27 * len(shown)), paint)


def arms_plot(report: ArmsReport) -> str:
    """Rate of each arm over another, with its 95 % interval; the line is that of no difference."""
    shown = [item for item in report.ratios if item.figure == "rate"]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.axvline(1.0, color=LIGHT["muted"], linewidth=1, ls=(0, (2, 3)))
        for place, item in enumerate(shown):
            if item.low is not None and item.high is not None:
                axes.plot([item.low, item.high], [place, place], color=LIGHT["blue"])
            axes.plot([item.ratio], [place], ls="", marker="o", color=LIGHT["blue"])
        axes.set_yticks(range(len(shown)), [f"{item.of} over {item.over}" for item in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel("ratio of rates, 95 % interval")
        quiet(axes, grid="x")

    return draw("engine-arms", f"Serve {report.recommendation}: {report.why}", (WIDTH, 1.0 + 0.27 * len(shown)), paint)


def starts_plot(report: ColdStartReport) -> str:
    """A bar a start, made of its phases in order."""
    starts = [start for start in report.starts if start.phases]
    names = [name for name in _PHASES if any(phase.name == name for start in starts for phase in start.phases)]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        left = [0.0] * len(starts)
        for place, name in enumerate(names):
            widths = [sum(phase.seconds for phase in start.phases if phase.name == name) for start in starts]
            axes.barh(
                range(len(starts)), widths, left=left, height=0.6, label=name.replace("_", " "),
                color=LIGHT[_FILLS[place % len(_FILLS)]], hatch=_HATCHES[place // len(_FILLS) % 2],
                edgecolor=LIGHT["surface"], linewidth=0.6,
            )  # fmt: skip
            left = [before + width for before, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(starts)), [f"{start.warm_up}, caches {start.caches}" for start in starts])
        axes.invert_yaxis()
        axes.set_xlabel("seconds from the start of the process")
        figure.legend(loc="outside lower left", ncols=4, handlelength=1.2)
        quiet(axes, grid="x")

    totals = [sum(phase.seconds for phase in start.phases) for start in starts]
    spread = f"{min(totals):.0f} s" if len(totals) == 1 else f"{min(totals):.0f} to {max(totals):.0f} s"
    largest = max(names, key=lambda name: sum(p.seconds for start in starts for p in start.phases if p.name == name))
    title = f"{spread} to the first token, most of it in: {largest.replace('_', ' ')}"
    return draw("engine-starts", title, (WIDTH, 1.3 + 0.27 * len(starts)), paint)
