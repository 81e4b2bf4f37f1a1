"""Adapters between the stages and the registry: naming, registering, promoting, fetching the champion."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from pathlib import Path

from prefect.logging import get_run_logger

from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.workspace import folder_ref
from schemas.tuning import AdapterArtifact, GateVerdict, LoraPlan
from tasks.wiring import Place, base_model, registry


def artifact_of(
    place: Place, folder: Path, kind: str, *, train_sha256: str, plan: LoraPlan, parent: str | None = None
) -> AdapterArtifact:
    """A trained folder as an artifact; its name says domain, lap and kind, and is the name under which it is served."""
    base = base_model(place)
    return AdapterArtifact(
        name=f"{place.domain.name}-lap-{place.lap.number:04d}-{kind}",
        folder=folder_ref(folder),
        base_model=place.settings.model.base,
        base_path=str(base.path),
        base_licence=place.settings.model.licence or base.licence,
        train_sha256=train_sha256,
        plan=plan,
        parent=parent,
    )


def local_champion(place: Place) -> AdapterArtifact | None:
    """The champion with its folder on this machine: where it was trained, or else fetched from the registry."""
    return registry(place).champion(into=place.settings.home / place.domain.name / "adapters")


def register(place: Place, adapter: AdapterArtifact, verdict: GateVerdict, run: RunRecorder) -> None:
    """Register the adapter; move the alias if the gate says so."""
    models = registry(place)
    version = models.register(adapter, run)
    run.tag("kickwheel.gate", f"{verdict.decision}: {'; '.join(verdict.reasons)}"[:5000])
    get_run_logger().info("gate: %s (%s)", verdict.decision, "; ".join(verdict.reasons))
    if verdict.decision == "promote":
        now = datetime.now(UTC).isoformat(timespec="seconds")
        models.promote(version, adapter, run_id=run.run_id, reasons=verdict.reasons, by=getpass.getuser(), at=now)
