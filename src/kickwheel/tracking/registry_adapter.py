"""The model registry: adapters as versions, and the aliases ``champion`` and ``challenger``.

An alias has no history of its own (mlflow/mlflow 2169): each move stands in a ledger (:mod:`kickwheel.promotion`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from kickwheel.errors import InputError
from kickwheel.promotion.ledger import Ledger
from kickwheel.promotion.ports import Alias
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.workspace import folder_ref
from schemas.base import FolderRef
from schemas.promotion import Move, PromotableVersion, VersionKind
from schemas.tuning import AdapterArtifact

CHAMPION: Alias = "champion"
_ABSENT = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}  # no such model; no such alias
_SHA, _ARTIFACT, _GATE, _KIND = "kickwheel.sha256", "kickwheel.artifact", "kickwheel.gate", "kickwheel.kind"
_KINDS: dict[str, VersionKind] = {"adapter": "adapter", "merged": "merged"}


class AdapterRegistry:
    """Adapters of one domain in MLflow's model registry."""

    def __init__(self, client: MlflowClient, domain: str, ledger: Path):
        self._client, self._name, self._ledger = client, domain, ledger
        self._into = ledger.parent / "adapters"

    def register(self, adapter: AdapterArtifact, recorder: RunRecorder, *, kind: VersionKind = "adapter") -> str:
        """Attach the adapter to the run and register it; the same weights are registered once. Returns the version.

        ``kind`` says how it is served: what is merged is an adapter here, too, and merged where it is served.
        """
        self._ensure_model()
        if standing := self.version_of(adapter.folder.sha256):
            return standing
        recorder.artifact(Path(adapter.folder.path), "adapter")
        created = self._client.create_model_version(
            self._name,
            source=f"runs:/{recorder.run_id}/adapter",
            run_id=recorder.run_id,
            tags={_SHA: adapter.folder.sha256, _ARTIFACT: adapter.model_dump_json(), _KIND: kind},
            description=adapter.name,
        )
        return str(created.version)

    def version_of(self, sha256: str) -> str | None:
        """The version with these weights; None: they are not registered."""
        found = self._client.search_model_versions(f"name='{self._name}'")
        return next((str(version.version) for version in found if version.tags.get(_SHA) == sha256), None)

    def champion(self, into: Path) -> AdapterArtifact | None:
        """The adapter under the alias ``champion``, its folder on this machine; None before the first promotion.

        Where the folder that it was trained in is gone or differs, its weights are fetched from the run to ``into``.
        """
        self._into = into
        version = self.alias(CHAMPION)
        return self.artifact(version) if version else None

    def artifact(self, version: str) -> AdapterArtifact:
        """A version's adapter, its folder on this machine: where it was trained, or else fetched from its run.

        Raises:
            InputError: there is no such version.
        """
        return self._local(self._found(version))

    def version(self, version: str) -> PromotableVersion:
        """See :class:`~kickwheel.promotion.ports.Aliases`."""
        found = self._found(version)
        adapter = self._local(found)
        return PromotableVersion(
            version=version,
            name=adapter.name,
            folder=adapter.folder,
            kind=_KINDS.get(found.tags.get(_KIND, ""), "adapter"),
            run_id=str(found.run_id or ""),
            gate=found.tags.get(_GATE, ""),
        )

    def alias(self, name: Alias) -> str | None:
        """See :class:`~kickwheel.promotion.ports.Aliases`."""
        try:
            return str(self._client.get_model_version_by_alias(self._name, name).version)
        except MlflowException as error:
            if error.error_code in _ABSENT:
                return None
            raise

    def set_alias(self, name: Alias, version: str | None) -> None:
        """See :class:`~kickwheel.promotion.ports.Aliases`."""
        if version is None:
            if self.alias(name) is not None:
                self._client.delete_registered_model_alias(self._name, name)
        elif self.alias(name) != version:
            self._client.set_registered_model_alias(self._name, name, version)

    def note_gate(self, version: str, verdict: str) -> None:
        """Keep the gate's verdict with the version: promotion by hand asks for it."""
        self._client.set_model_version_tag(self._name, version, _GATE, verdict[:5000])

    def history(self) -> list[Move]:
        """Moves that were carried out, oldest first."""
        return Ledger(self._ledger).moves()

    def _found(self, version: str) -> ModelVersion:
        try:
            return self._client.get_model_version(self._name, version)
        except MlflowException as error:
            if error.error_code not in _ABSENT:
                raise
            raise InputError(f"there is no version {version!r} of {self._name} in the registry (kickwheel history)") from error

    def _local(self, version: ModelVersion) -> AdapterArtifact:
        adapter = AdapterArtifact.model_validate_json(version.tags[_ARTIFACT])
        here = Path(adapter.folder.path)
        if here.is_dir() and folder_ref(here).sha256 == adapter.folder.sha256:
            return adapter
        target = self._into / adapter.folder.sha256[:16]
        if not target.is_dir():
            self._into.mkdir(parents=True, exist_ok=True)
            partial = tempfile.mkdtemp(dir=self._into, prefix=".fetch-")
            Path(self._client.download_artifacts(str(version.run_id), "adapter", partial)).rename(target)
        return adapter.model_copy(update={"folder": FolderRef(path=str(target), sha256=adapter.folder.sha256)})

    def _ensure_model(self) -> None:
        try:
            self._client.get_registered_model(self._name)
        except MlflowException as error:
            if error.error_code not in _ABSENT:
                raise
            self._client.create_registered_model(self._name)
