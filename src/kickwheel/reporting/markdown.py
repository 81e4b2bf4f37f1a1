"""The lap in Markdown, for Prefect artifacts and MLflow notes. No line is indented: both would show it as code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kickwheel.reporting.key_figures import stage_lines, verdicts
from kickwheel.reporting.standing import eval_lines
from kickwheel.reporting.wording import LANGUAGES, interval, percent, sentence
from schemas.lap import LapReport


def summary_markdown(report: LapReport) -> str:
    """Verdicts, stages, quality and business metrics of a lap."""
    lines = [f"# {_text(report.domain)}, lap {report.lap}", ""]
    lines += [f"- **{heading}**: {_text(sentence(said))}" for heading, said in verdicts(report)]
    lines += ["", "## Stages", "", *_table(("stage", "took", "key figures"), stage_lines(report))]
    if eval_lines(report):
        lines += ["", "## Quality on eval", "", *_table(_QUALITY, _quality(report))]
    if report.distillation and report.distillation.business:
        lines += ["", "## Business metrics, replayed", "", *_table(_BUSINESS, _business(report))]
    return "\n".join([*lines, "", f"Kickwheel {_text(report.code_version)}, started {_text(report.started_at)}", ""])


_QUALITY = ("student", "rows", "joint frame", "95 % interval", "intent accuracy", "macro F1", "slot F1", "unparsable")
_BUSINESS = ("arm", "cases", "task completion", "turns", "correction rate", "cost per 1k tasks")


def _quality(report: LapReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for line in eval_lines(report):
        name = f"{line.title}, {LANGUAGES[line.language]} rows" if line.language else line.title
        figures = line.metrics
        shares = (figures.intent_accuracy, figures.macro_f1, figures.slot_f1, figures.unparsable_rate)
        said = (percent(figures.joint_frame_accuracy), interval(figures), *(percent(share) for share in shares))
        rows.append((name, str(figures.rows), *said))
    return rows


def _business(report: LapReport) -> list[tuple[str, ...]]:
    arms = report.distillation.business if report.distillation else {}
    return [
        (
            arm,
            str(metrics.cases),
            percent(metrics.task_completion),
            f"{metrics.turns:.2f}",
            percent(metrics.correction_rate),
            f"{metrics.cost_per_1k_tasks:.3f}",
        )
        for arm, metrics in arms.items()
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *([_text(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _text(value: str) -> str:
    """One line in which nothing is markup: texts of domains and services are data."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(value.split()))
