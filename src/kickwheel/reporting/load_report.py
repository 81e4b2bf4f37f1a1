"""The page of a load test on its own, and its rows for tables elsewhere."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from kickwheel.reporting.html import page_environment
from kickwheel.reporting.load_plots import achieved_plot, latency_plot
from kickwheel.reporting.load_shape_plots import cdf_plot, has_cdf, has_timeline, timeline_plot
from kickwheel.reporting.palette import css_variables
from kickwheel.reporting.svg import inline
from kickwheel.throughput.slo import describe, measures
from kickwheel.workspace import write_atomically
from schemas.throughput import ThroughputReport

_COLUMNS = ("p50_ms", "p95_ms", "p99_ms", "ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "itl_p99_ms")


def load_plots_of(report: ThroughputReport) -> dict[str, str]:
    """Standalone SVG documents by file stem: latency, achieved, load_cdf, load_timeline; those for which there are figures."""
    plots: dict[str, str] = {}
    if any(point.steady for point in report.points):
        plots["latency"] = latency_plot(report)
        plots["achieved"] = achieved_plot(report)
    if has_cdf(report):
        plots["load_cdf"] = cdf_plot(report)
    if has_timeline(report):
        plots["load_timeline"] = timeline_plot(report)
    return plots


def load_rows(report: ThroughputReport) -> list[dict[str, object]]:
    """A row a step, with the same columns for all: what tables of Prefect and MLflow show."""
    rows: list[dict[str, object]] = []
    for point in (*report.unloaded, *report.points, *((report.burst.point,) if report.burst else ())):
        found = measures(point)
        server = point.server
        rows.append(
            {
                "arm": point.arm,
                "schedule": point.schedule,
                "offered": round(point.offered_rate, 3),
                "achieved": round(point.achieved_rate, 3),
                "goodput": round(point.goodput, 3),
                **{name: None if (value := found.get(name)) is None else round(value, 1) for name in _COLUMNS},
                "sent": point.sent,
                "errors": sum(point.errors.values()),
                "tokens_per_s": round(point.completion_tokens_per_s, 1),
                "joint_accuracy": round(point.accuracy.loaded, 4) if point.accuracy else None,
                "joint_accuracy_ratio": None if (ratio := found["joint_accuracy_ratio"]) is None else round(ratio, 4),
                "in_flight": point.max_in_flight,
                "queue": server.queue_max if server else None,
                "kv_used": server.kv_used_max if server else None,
                "send_delay_p99_ms": round(point.send_delay_p99_ms, 1),
                "slo": "void" if point.void else "holds" if point.holds_slo else "; ".join(point.missed),
            }
        )
    return rows


def write_load_report(report: ThroughputReport, folder: Path, *, title: str) -> ThroughputReport:
    """``plots/*.svg``, ``report.html`` and, last of all, ``report.json`` under ``folder``; returns the report with its page."""
    plots = load_plots_of(report)
    for name, svg in plots.items():
        write_atomically(folder / "plots" / f"{name}.svg", svg)
    page = folder / "report.html"
    whole = report.model_copy(update={"html": str(page)})
    text = (
        page_environment()
        .get_template("load_page.html.j2")
        .render(
            title=title,
            report={"throughput": whole},
            plots={name: Markup(inline(svg)) for name, svg in plots.items()},  # noqa: S704 (ours; texts in it are escaped)
            variables=Markup(css_variables(":root")),  # noqa: S704
            not_measured="" if report.points or report.measured else f"not measured: {report.not_measured_reason}",
            slo=describe(report.slo),
        )
    )
    write_atomically(page, text)
    write_atomically(folder / "report.json", whole.model_dump_json(indent=1) + "\n")
    return whole
