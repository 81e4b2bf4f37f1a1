"""Adapters between the stages and the registry: naming, registering, promoting, fetching the champion."""

from __future__ import annotations

from pathlib import Path

from prefect.logging import get_run_logger

from kickwheel.distillation.compare import Weights
from kickwheel.errors import KickwheelError
from kickwheel.promotion.opening_adapter import open_mover, trial_of_version
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.workspace import folder_ref
from schemas.trial import TrialVerdict
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


def register(place: Place, adapter: AdapterArtifact, verdict: GateVerdict, run: RunRecorder) -> GateVerdict:
    """Register the adapter and do what the gate says; returns the verdict as it was carried out.

    promote: into service, unless a person has to approve or what serves does not take it; hold: it gets the alias
    challenger, for a trial; reject: nothing.
    """
    mover = open_mover(place.domain, place.settings)
    models = registry(place)
    version = models.register(adapter, run, kind=place.settings.promotion.serve_as)
    models.note_gate(version, _told(verdict))
    if verdict.decision == "promote" and place.settings.promotion.approval and verdict.champion is not None:
        verdict = _held(verdict, f"a person has to approve: kickwheel promote {place.domain.folder} {version}")
    if verdict.decision == "promote":
        try:
            mover.promote(version, reasons=verdict.reasons, evidence=evidence_of(verdict))
        except KickwheelError as error:
            verdict = _held(
                verdict, f"it could not be put in service ({error}): kickwheel promote {place.domain.folder} {version}"
            )
    if verdict.decision == "hold":
        mover.aliases.set_alias("challenger", version)
    run.tag("kickwheel.gate", _told(verdict))
    get_run_logger().info("gate: %s", _told(verdict))
    return verdict


def trial_of(place: Place, adapter: AdapterArtifact) -> TrialVerdict | None:
    """What the running trial shows of these weights; None: they are not on trial (those of a new training never are yet)."""
    version = registry(place).version_of(adapter.folder.sha256)
    return trial_of_version(place.domain, place.settings, version) if version else None


def evidence_of(verdict: GateVerdict) -> dict[str, float]:
    """The verdict's figures, for the ledger."""
    values = {"challenger_joint": verdict.challenger.overall.joint_frame_accuracy, "rows": verdict.challenger.overall.rows}
    if verdict.champion is not None:
        values["champion_joint"] = verdict.champion.overall.joint_frame_accuracy
    if verdict.paired is not None:
        values |= {"rows_won": verdict.paired.wins, "rows_lost": verdict.paired.losses}
    if verdict.one_sided_p is not None:
        values["one_sided_p"] = verdict.one_sided_p
    return values


def weights_of(champion: AdapterArtifact | None, challenger: AdapterArtifact) -> Weights | None:
    """Bytes of both folders; None without a champion."""
    if champion is None:
        return None
    return Weights(*(_size(Path(item.folder.path)) for item in (champion, challenger)))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.safetensors"))


def _held(verdict: GateVerdict, reason: str) -> GateVerdict:
    return verdict.model_copy(update={"decision": "hold", "reasons": (*verdict.reasons, reason)})


def _told(verdict: GateVerdict) -> str:
    return f"{verdict.decision}: {'; '.join(verdict.reasons)}"[:5000]
