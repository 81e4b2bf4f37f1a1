"""Writes a lap's report: plots, page, and last of all ``report.json``, which says that the lap is complete."""

from __future__ import annotations

from pathlib import Path

from kickwheel.reporting.html import render_page
from kickwheel.reporting.markdown import summary_markdown
from kickwheel.reporting.metrics import flat_metrics
from kickwheel.reporting.plots import plots_of
from kickwheel.workspace import write_atomically
from schemas.lap import LapReport

__all__ = ["flat_metrics", "summary_markdown", "write_report"]


def write_report(report: LapReport, folder: Path) -> LapReport:
    """Write ``plots/*.svg``, ``report.html`` and ``report.json`` under ``folder``, each atomically.

    ``report.json`` is the lap's completion marker: killed before it, the lap is unfinished and the report is written again.

    Returns:
        The report as it stands in ``report.json``, with the page's path.
    """
    plots = plots_of(report)
    for name, svg in plots.items():
        write_atomically(folder / "plots" / f"{name}.svg", svg)
    page = folder / "report.html"
    write_atomically(page, render_page(report, plots))
    written = report.model_copy(update={"html": str(page)})
    write_atomically(folder / "report.json", written.model_dump_json(indent=1) + "\n")
    return written
