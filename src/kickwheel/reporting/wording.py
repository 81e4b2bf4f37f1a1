"""How figures are said, the same in page, terminal and Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemas.lap import LapReport, Stage
from schemas.quality import QualityMetrics
from schemas.throughput import ThroughputReport

STUDENTS: Final = {
    "tuned": "tuned student",
    "probe": "linear probe",
    "base_zero_shot": "untuned base",
    "base_few_shot": "base, few-shot",
    "base_few_shot_json": "base, few-shot, JSON",
    "champion": "champion",
    "challenger": "distilled student",
}
LANGUAGES: Final = {"zh": "Chinese", "en": "English"}


def percent(share: float | None, digits: int = 1) -> str:
    """``0.4213`` as ``42.1 %``."""
    return "not measured" if share is None else f"{100 * share:.{digits}f} %"


def interval(metrics: QualityMetrics) -> str:
    """95 % interval of the joint frame accuracy, e.g. ``36.7 to 47.8 %``."""
    low, high = metrics.joint_interval
    return f"{max(0.0, 100 * low):.1f} to {min(100.0, 100 * high):.1f} %"


def span(interval: tuple[float, float] | None) -> str:
    """An interval of a share, e.g. ``36.7 to 47.8 %``; a dash where there is none."""
    return f"{max(0.0, 100 * interval[0]):.1f} to {min(100.0, 100 * interval[1]):.1f} %" if interval else "–"


def duration(seconds: float | None) -> str:
    """``412.3`` as ``6 min 52 s``; below two minutes in seconds."""
    if seconds is None:
        return "not measured"
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def latency(milliseconds: float | None) -> str:
    """A latency in milliseconds, or in seconds from 1,000 on; a dash where nothing succeeded."""
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.2f} s"


def number(value: float) -> str:
    """``12345.0`` as ``12,345``, ``3.14159`` as ``3.14``."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def rate(value: float | None) -> str:
    """Largest rate that holds the SLO; 0 means that not even the first step held it."""
    if value is None:
        return "not measured"
    return f"{number(value)} req/s" if value > 0 else "none of the steps"


def counts(by_name: Mapping[str, int]) -> str:
    """``{"dwell": 3, "scroll": 2}`` as ``dwell 3, scroll 2``, most first; ``none`` where there is nothing."""
    return ", ".join(f"{name} {n:,}" for name, n in sorted(by_name.items(), key=lambda item: (-item[1], item[0]))) or "none"


def sentence(text: str) -> str:
    """The text with a capital first and one full stop last."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def plural(count: int, noun: str) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def not_run(stage: Stage) -> str:
    """Why a stage's figures are missing from the lap."""
    return f"not measured: the {stage} stage did not run in this lap"


def not_measured(report: LapReport) -> str:
    """Why the lap has no throughput figures; empty where it has."""
    throughput: ThroughputReport | None = report.throughput
    if throughput is None:
        return not_run("throughput")
    if not throughput.measured:
        return f"not measured: {throughput.not_measured_reason or 'the server gave no reason'}"
    return "" if throughput.points else "not measured: no load step ended"
