"""A load test in a terminal: the number first, then the steps."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kickwheel.reporting.wording import counts, latency, number, percent, rate, sentence
from kickwheel.throughput.slo import describe
from schemas.throughput import LoadPoint, ThroughputReport


def load_table(report: ThroughputReport) -> RenderableType:
    """Largest rate, objective, why the search ended, steps. Printing is the caller's job."""
    lines: list[RenderableType] = []
    for search in report.searches:
        lines.append(Text(f"largest rate: {rate(search.largest_rate)}", style="bold"))
        lines.append(Text(f"within {describe(report.slo)}. {sentence(search.why)}"))
        if search.unloaded_p99_ms is not None:
            lines.append(Text(f"one request at a time: P99 {latency(search.unloaded_p99_ms)}"))
    if report.load:
        lines.append(Text(f"load: {report.load}", style="bold"))
        for point in report.points[:1]:
            lines.append(Text(_verdict(point, describe(report.slo))))
    if report.not_measured_reason:
        lines.append(Text(sentence(f"not measured to its end: {report.not_measured_reason}"), style="red"))
    if report.burst:
        burst = report.burst
        told = f"{burst.requests} at once: P50 {latency(burst.point.latency_ms.p50)}, P95 {latency(burst.point.latency_ms.p95)}"
        lines.append(Text(f"{told}; {'; '.join(burst.alarms) or 'no alarm'}", style="red" if burst.alarms else ""))
    lines.append(steps_table((*report.unloaded, *report.points)))
    lines.append(Text(f"{report.server}; {report.cores}", style="dim"))
    return Group(*lines)


def _verdict(point: LoadPoint, slo: str) -> str:
    if point.void:
        return f"void: the generator itself was too slow, P99 send delay {latency(point.send_delay_p99_ms)}"
    return f"{slo} holds" if point.holds_slo else f"{slo} is missed: {'; '.join(point.missed)}"


def steps_table(points: tuple[LoadPoint, ...]) -> Table:
    """One row a step, in the order in which they were measured."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for index, column in enumerate(
        ("arm", "offered", "achieved", "P50", "P95", "P99", "TTFT P99", "tokens/s", "right", "sent", "errors", "SLO")
    ):
        table.add_column(column, justify="right" if index else "left")
    for point in points:
        held = "void" if point.void else "holds" if point.holds_slo else "ended early" if point.stopped_early else "missed"
        times = (point.latency_ms.p50, point.latency_ms.p95, point.latency_ms.p99, point.ttft_ms.p99)
        table.add_row(
            point.arm,
            number(round(point.offered_rate, 2)) if point.steady else point.schedule,
            f"{point.achieved_rate:.2f}",
            *(latency(value) for value in times),
            f"{point.completion_tokens_per_s:.0f}",
            percent(point.accuracy.loaded) if point.accuracy else "–",
            str(point.sent),
            counts(point.errors) if point.errors else "0",
            Text(held, style="green" if held == "holds" else "red"),
        )
    return table
