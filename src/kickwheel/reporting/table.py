"""The lap in a terminal: four small tables that fit 80 columns. Printing is the caller's job."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kickwheel.reporting.key_figures import stage_lines, verdicts
from kickwheel.reporting.load_plots import arms_of
from kickwheel.reporting.standing import eval_lines, verdict_tone
from kickwheel.reporting.wording import LANGUAGES, interval, latency, not_measured, number, percent
from schemas.lap import LapReport


def lap_table(report: LapReport) -> RenderableType:
    """Stages, quality, throughput and verdicts, one below the other. A table without figures is left out."""
    parts: list[RenderableType] = [_stages(report)]
    if eval_lines(report):
        parts.append(_quality(report))
    if report.throughput and not not_measured(report):
        parts.append(_throughput(report))
    if verdicts(report):
        parts.append(_verdicts(report))
    return Group(*parts)


def _table(title: str, *columns: str, right: bool = True) -> Table:
    """First column left, the others right where they hold figures."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), width=80)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if right and index else "left")
    return table


def _stages(report: LapReport) -> Table:
    table = _table(f"{report.domain}, lap {report.lap}", "stage", "took", "key figures", right=False)
    for stage, took, figures in stage_lines(report):
        table.add_row(stage, took, Text(figures))
    return table


def _quality(report: LapReport) -> Table:
    table = _table("Quality on eval", "student", "joint", "95 % interval", "intent", "macro F1", "slot F1", "unread.")
    for line in eval_lines(report):
        sample = f" ({line.metrics.rows})" if line.sample_of else ""
        name = f"  {LANGUAGES[line.language]} ({line.metrics.rows})" if line.language else f"{line.title}{sample}"
        figures = line.metrics
        shares = (figures.intent_accuracy, figures.macro_f1, figures.slot_f1, figures.unparsable_rate)
        cells = (
            percent(figures.joint_frame_accuracy),
            interval(figures).replace(" to ", "–"),
            *(percent(share) for share in shares),
        )
        table.add_row(Text(name), *cells, style="dim" if line.language else None)
    return table


def _throughput(report: LapReport) -> Table:
    table = _table("Throughput, requests a second", "arm", "offered", "achieved", "goodput", "P50", "P95", "P99", "SLO")
    for arm, points in arms_of(report.throughput).items() if report.throughput else ():
        for point in points:
            held = "void" if point.void else "holds" if point.holds_slo else "missed"
            times = (latency(value) for value in (point.latency_ms.p50, point.latency_ms.p95, point.latency_ms.p99))
            rates = (number(point.offered_rate), f"{point.achieved_rate:.2f}", f"{point.goodput:.2f}")
            table.add_row(arm, *rates, *times, Text(held, style="green" if held == "holds" else "red"))
    return table


def _verdicts(report: LapReport) -> Table:
    table = _table("Verdicts", "", "", right=False)
    table.show_header = False
    warns = report.tuning is not None and verdict_tone(report.tuning) == "warn"
    for heading, sentence in verdicts(report):
        loses = heading == "against the probe" and warns
        table.add_row(Text(heading), Text(sentence, style="bold red" if loses else ""))
    return table
