"""Plots of trust: whether confidence means what it says, and what answering less would gain."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from kickwheel.reporting.palette import LIGHT
from kickwheel.reporting.svg import WIDTH, draw, quiet
from kickwheel.reporting.wording import percent
from schemas.calibration import CalibrationQuality, ReliabilityBin


def reliability_diagram(quality: CalibrationQuality) -> str:
    """Accuracy over confidence, as the student gives it and calibrated; a dot's area is its share of the rows."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=LIGHT["muted"], linewidth=0.8)
        _dots(axes, quality.reliability_raw, "orange", "as given")
        _dots(axes, quality.reliability, "blue", "calibrated on valid")
        axes.set_xlim(0, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("confidence")
        axes.set_ylabel("share right")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.legend(loc="upper left")
        quiet(axes)

    title = (
        f"Confidence is off by {percent(quality.ece_raw)} as given and by {percent(quality.ece)} calibrated "
        f"(expected calibration error, {quality.known} rows of eval)"
    )
    return draw("reliability", title, (WIDTH, 2.9), paint)


def coverage_curve(quality: CalibrationQuality) -> str:
    """Accuracy of the answered rows over the share that is answered, the surest first."""
    at = quality.at_threshold

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        points = quality.coverage
        axes.plot([point.coverage for point in points], [point.accuracy for point in points], color=LIGHT["blue"])
        axes.plot([at.coverage], [at.accuracy], "o", color=LIGHT["orange"])
        axes.annotate(
            "threshold", (at.coverage, at.accuracy), textcoords="offset points", xytext=(6, 6), fontsize=8.5, color=LIGHT["ink"]
        )
        axes.set_xlim(0, 1.02)
        axes.set_ylim(-0.02, 1.05)
        axes.set_xlabel("rows answered")
        axes.set_ylabel("share right")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0))
        quiet(axes)

    answered, right = percent(at.coverage), percent(at.accuracy)
    title = f"At the threshold chosen on valid {answered} of the rows are answered, {right} of those right"
    return draw("coverage-curve", title, (WIDTH, 2.4), paint)


def _dots(axes: Axes, bins: Sequence[ReliabilityBin], colour: str, label: str) -> None:
    rows = sum(item.rows for item in bins) or 1
    axes.scatter(
        [item.confidence for item in bins],
        [item.accuracy for item in bins],
        s=[12 + 220 * item.rows / rows for item in bins],
        color=LIGHT[colour],
        alpha=0.75,
        linewidths=0,
        label=label,
    )
