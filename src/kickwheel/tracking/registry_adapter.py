"""The model registry: adapters as versions, the alias ``champion``, and a ledger of every move.

An alias has no history of its own (mlflow/mlflow 2169), so each move is appended to ``promotions.jsonl`` as well.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from pydantic import Field

from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.workspace import append_durably, folder_ref, read_log
from schemas.base import Contract, FolderRef
from schemas.tuning import AdapterArtifact

CHAMPION = "champion"
_ABSENT = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}  # no such model; no such alias
_SHA, _ARTIFACT = "kickwheel.sha256", "kickwheel.artifact"


class Promotion(Contract):
    """One line of the ledger: who moved the alias, when, from what to what, and on what evidence."""

    at: str = Field(description="ISO 8601, UTC")
    by: str
    alias: Literal["champion"] = "champion"
    from_version: str | None
    to_version: str
    adapter: str
    run_id: str
    reasons: tuple[str, ...]


class AdapterRegistry:
    """Adapters of one domain in MLflow's model registry."""

    def __init__(self, client: MlflowClient, domain: str, ledger: Path):
        self._client, self._name, self._ledger = client, domain, ledger

    def register(self, adapter: AdapterArtifact, recorder: RunRecorder) -> str:
        """Attach the adapter to the run and register it; the same weights are registered once. Returns the version."""
        self._ensure_model()
        for version in self._client.search_model_versions(f"name='{self._name}'"):
            if version.tags.get(_SHA) == adapter.folder.sha256:
                return str(version.version)
        recorder.artifact(Path(adapter.folder.path), "adapter")
        created = self._client.create_model_version(
            self._name,
            source=f"runs:/{recorder.run_id}/adapter",
            run_id=recorder.run_id,
            tags={_SHA: adapter.folder.sha256, _ARTIFACT: adapter.model_dump_json()},
            description=adapter.name,
        )
        return str(created.version)

    def champion(self, into: Path) -> AdapterArtifact | None:
        """The adapter under the alias ``champion``, its folder on this machine; None before the first promotion.

        Where the folder that it was trained in is gone or differs, its weights are fetched from the run to ``into``.
        """
        version = self._champion_version()
        if version is None:
            return None
        adapter = AdapterArtifact.model_validate_json(version.tags[_ARTIFACT])
        here = Path(adapter.folder.path)
        if here.is_dir() and folder_ref(here).sha256 == adapter.folder.sha256:
            return adapter
        target = into / adapter.folder.sha256[:16]
        if not target.is_dir():
            into.mkdir(parents=True, exist_ok=True)
            partial = tempfile.mkdtemp(dir=into, prefix=".fetch-")
            Path(self._client.download_artifacts(str(version.run_id), "adapter", partial)).rename(target)
        return adapter.model_copy(update={"folder": FolderRef(path=str(target), sha256=adapter.folder.sha256)})

    def promote(
        self, version: str, adapter: AdapterArtifact, *, run_id: str, reasons: tuple[str, ...], by: str, at: str
    ) -> None:
        """Move the alias and append to the ledger. Moving it to where it is already changes nothing."""
        before = self._champion_version()
        if before and str(before.version) == version:
            return
        self._client.set_registered_model_alias(self._name, CHAMPION, version)
        move = Promotion(
            at=at,
            by=by,
            from_version=str(before.version) if before else None,
            to_version=version,
            adapter=adapter.name,
            run_id=run_id,
            reasons=reasons,
        )
        append_durably(self._ledger, [move])

    def history(self) -> list[Promotion]:
        """Moves, oldest first."""
        return read_log(self._ledger, Promotion)

    def _champion_version(self) -> ModelVersion | None:
        try:
            return self._client.get_model_version_by_alias(self._name, CHAMPION)
        except MlflowException as error:
            if error.error_code in _ABSENT:
                return None
            raise

    def _ensure_model(self) -> None:
        try:
            self._client.get_registered_model(self._name)
        except MlflowException as error:
            if error.error_code not in _ABSENT:
                raise
            self._client.create_registered_model(self._name)
