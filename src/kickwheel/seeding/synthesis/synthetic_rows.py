"""Synthetic rows of a lap on disk: one file a moment, whole or not there."""

from __future__ import annotations

from pathlib import Path

from kickwheel.workspace import write_atomically
from schemas.base import Contract
from schemas.synthesis import SynthesisReport
from schemas.utterance import Utterance


class SyntheticRows(Contract):
    """Rows that one moment of synthesis left, and the account of them."""

    report: SynthesisReport
    rows: tuple[Utterance, ...]


def read_synthetic(folder: Path, moment: str) -> SyntheticRows | None:
    """None: this moment has not been, or was not finished."""
    path = _path(folder, moment)
    return SyntheticRows.model_validate_json(path.read_text(encoding="utf-8")) if path.is_file() else None


def write_synthetic(folder: Path, moment: str, rows: SyntheticRows) -> None:
    """Keep a moment's rows."""
    write_atomically(_path(folder, moment), rows.model_dump_json(indent=1))


def summed_reports(folder: Path) -> SynthesisReport | None:
    """Both moments in one account; None: nothing was ordered."""
    found = [done.report for moment in ("start", "end") if (done := read_synthetic(folder, moment))]
    found = [report for report in found if report.orders]
    if not found:
        return None
    refused: dict[str, int] = {}
    for report in found:
        for reason, count in report.refused.items():
            refused[reason] = refused.get(reason, 0) + count
    return SynthesisReport(
        writers=tuple(dict.fromkeys(name for report in found for name in report.writers)),
        orders=tuple(order for report in found for order in report.orders),
        written=sum(report.written for report in found),
        kept=sum(report.kept for report in found),
        refused=dict(sorted(refused.items())),
        unchecked=sum(report.unchecked for report in found),
        share=found[-1].share,
        notes=tuple(note for report in found for note in report.notes),
    )


def _path(folder: Path, moment: str) -> Path:
    return folder / f"synthetic-{moment}.json"
