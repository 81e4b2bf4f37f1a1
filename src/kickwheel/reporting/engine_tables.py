"""The engine's reports as Markdown: for the terminal, MLflow and docs."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.engine import ArmsReport, ColdStartReport, EngineReports, EngineSearchReport, StartMeasured
from schemas.throughput import Percentiles


def search_lines(report: EngineSearchReport) -> list[str]:
    """Every trial with rate, latency, cost and memory; the chosen one and the Pareto front are marked."""
    lines = [
        f"{report.model} on {report.server} ({report.device}); price {report.price_per_hour:g} an hour",
        "",
        "| start | changed | requests/s | P50 / P99, ms | at | cost per 1,000 | memory, GiB | ready, s | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for trial in report.trials:
        if trial.figures is None:
            last = trial.failed.strip().splitlines()[0] if trial.failed.strip() else "failed"
            lines.append(f"| {trial.number} | {trial.changed} | – | – | – | – | – | – | {last[:80]} |")
            continue
        marks = ", ".join(
            word for word, there in (("chosen", trial.number == report.chosen), ("Pareto", trial.on_front)) if there
        )
        f = trial.figures
        cost = "–" if f.cost_per_1000 is None else f"{f.cost_per_1000:.4f}"
        memory = "–" if f.memory_gib is None else f"{f.memory_gib:.1f}"
        lines.append(
            f"| {trial.number} | {trial.changed} | {f.rate:.1f} | {_pair(f.latency_ms)} | {f.at_rate:g}/s | {cost} "
            f"| {memory} | {f.startup_s:.0f} | {marks} |"
        )
    return [*lines, "", f"chosen: {report.why}"]


def arms_lines(report: ArmsReport) -> list[str]:
    """Arms, their ratios with intervals, and what to serve."""
    length = f"replies of {report.output_tokens} tokens" if report.output_tokens else "replies as the model ends them"
    rate = f"{report.offered_rate:g}/s"
    lines = [
        f"{report.model} on {report.server} ({report.device}), {report.blocks} blocks, {length}",
        "",
        f"| arm | requests/s, all at once | P50 / P99 at {rate}, ms | TTFT P50 / P99, ms | requests | errors |",
        "|---|---|---|---|---|---|",
    ]
    for arm in report.arms:
        lines.append(
            f"| {arm.arm} | {arm.rate:.1f} | {_pair(arm.latency_ms)} | {_pair(arm.ttft_ms)} | {arm.requests} | "
            f"{sum(arm.errors.values())} |"
        )
    lines += ["", "| ratio | rate | P50 | P99 |", "|---|---|---|---|"]
    pairs = dict.fromkeys((item.of, item.over) for item in report.ratios)
    for of, over in pairs:
        cells = []
        for figure in ("rate", "p50_ms", "p99_ms"):
            item = next((r for r in report.ratios if (r.of, r.over, r.figure) == (of, over, figure)), None)
            bounds = "" if item is None or item.low is None or item.high is None else f" ({item.low:.2f} to {item.high:.2f})"
            cells.append("–" if item is None else f"{item.ratio:.2f}{bounds}")
        lines.append(f"| {of} over {over} | " + " | ".join(cells) + " |")
    lines += ["", *(f"not measured: {name} ({why})" for name, why in report.left_out.items())]
    return [*lines, f"serve: {report.recommendation}: {report.why}"]


def cold_start_lines(report: ColdStartReport) -> list[str]:
    """Starts by phase, and first requests by way of warming."""
    names = list(dict.fromkeys(phase.name for start in report.starts for phase in start.phases))
    lines = [
        f"{report.model} on {report.server} ({report.device}); seconds by phase",
        "",
        "| start | caches | " + " | ".join(names) + " | ready |",
        "|---|---|" + "---|" * (len(names) + 1),
        *(_start_line(start, names) for start in report.starts),
        "",
        f"| warm-up | starts | ready, s | warm-up, s | first requests P50 / P99, ms ({', '.join(report.kinds)}) | "
        "warm P50 / P99, ms | memory, GiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in report.rows:
        memory = "–" if row.memory_gib is None else f"{row.memory_gib:.2f}"
        lines.append(
            f"| {row.warm_up} | {row.starts} | {row.ready_s:.1f} | {row.warm_up_s:.1f} | {_pair(row.first_ms)} "
            f"(of {row.first_requests}) | {_pair(row.warm_ms)} | {memory} |"
        )
    saved = report.cache_reuse_s
    reuse = f"not measured: {report.cache_reuse_reason}" if saved is None else f"{saved:.1f} s sooner ready"
    lines += ["", f"filled compile caches: {reuse}"]
    if burst := report.burst:
        latency = burst.point.latency_ms
        against = "; ".join(burst.alarms) or (
            f"no alarm against run {burst.compared_with}" if burst.compared_with else "no version before to compare with"
        )
        p50, p95, p99 = ("–" if value is None else f"{value:.0f}" for value in (latency.p50, latency.p95, latency.p99))
        lines.append(f"{burst.requests} at once, cold: P50 / P95 / P99 {p50} / {p95} / {p99} ms; {against}")
    return lines


def engine_markdown(reports: EngineReports) -> str:
    """All reports there are, under headings."""
    parts: list[str] = []
    if reports.search:
        parts += ["## Settings", "", *search_lines(reports.search), ""]
    if reports.arms:
        parts += ["## Arms", "", *arms_lines(reports.arms), ""]
    if reports.cold_start:
        parts += ["## Starts", "", *cold_start_lines(reports.cold_start), ""]
    return "\n".join(parts)


def _start_line(start: StartMeasured, names: Sequence[str]) -> str:
    seconds: dict[str, float] = {phase.name: phase.seconds for phase in start.phases}
    cells = [f"{seconds[name]:.1f}" if name in seconds else "–" for name in names]
    return f"| {start.warm_up} | {start.caches} | " + " | ".join(cells) + f" | {start.ready_s:.1f} |"


def _pair(latency: Percentiles) -> str:
    return " / ".join("–" if value is None else f"{value:.0f}" for value in (latency.p50, latency.p99))
