"""The newest report of each measurement of the engine, beside its logs: ``HOME/DOMAIN/engine/tune.json`` and so on."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from kickwheel.workspace import write_atomically
from schemas.engine import ArmsReport, ColdStartReport, EngineReports, EngineSearchReport

_FILES = {EngineSearchReport: "tune.json", ArmsReport: "arms.json", ColdStartReport: "cold-start.json"}

AnyReport = EngineSearchReport | ArmsReport | ColdStartReport


def keep_report(home: Path, domain: str, report: AnyReport) -> Path:
    """Write a report over the one before it; returns its file."""
    path = home / domain / "engine" / _FILES[type(report)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, report.model_dump_json(indent=1) + "\n")
    return path


def only(report: AnyReport) -> EngineReports:
    """A report by itself."""
    match report:
        case EngineSearchReport():
            return EngineReports(search=report)
        case ArmsReport():
            return EngineReports(arms=report)
        case _:
            return EngineReports(cold_start=report)


def kept_reports(home: Path, domain: str) -> EngineReports | None:
    """What was measured of the domain's model server; None: nothing. A file of another version counts as not there."""
    found: dict[str, object] = {}
    for name, kind in (("search", EngineSearchReport), ("arms", ArmsReport), ("cold_start", ColdStartReport)):
        path = home / domain / "engine" / _FILES[kind]
        try:
            found[name] = kind.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            continue
    return EngineReports.model_validate(found) if found else None
