"""Recipes in MLflow runs, and encoder students in the model registry: a model of their own beside the domain's adapters.

vLLM serves what stands under the domain's name; an encoder there would be loaded as an adapter.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from kickwheel.errors import InputError
from kickwheel.settings import Settings
from kickwheel.tracking.registry_adapter import CHAMPION
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tracking.store_adapter import tracking_uri
from kickwheel.workspace import append_durably, folder_ref, write_atomically
from schemas.base import FolderRef
from schemas.promotion import Move
from schemas.student import Recipe

WEIGHTS_TAG, _RECIPE, _SHA = "kickwheel.weights_sha256", "recipe.json", "kickwheel.sha256"
_ABSENT = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}


def record_recipe(run: RunRecorder, recipe: Recipe, folder: Path) -> None:
    """The recipe as an artifact of the run, and what runs are compared by as its parameters."""
    path = folder / _RECIPE
    write_atomically(path, recipe.model_dump_json(indent=1))
    run.artifact(path)
    plan = recipe.causal or recipe.encoder
    shown = {} if plan is None else {f"plan.{name}": value for name, value in plan.model_dump().items()}
    arms = ", ".join(recipe.robust.arms) or "none"
    run.params({"student": recipe.kind, "method": recipe.method, "base_model": recipe.base_model, "arms": arms, **shown})
    run.dataset(recipe.train, "train", "training")


def read_recipe(settings: Settings, run_id: str) -> tuple[Recipe, str]:
    """The recipe of a run, and the hash of the weights that came of it (empty: it did not get that far).

    Raises:
        InputError: there is no such run, or it has no recipe.
    """
    client = MlflowClient(tracking_uri(settings))
    try:
        run = client.get_run(run_id)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(client.download_artifacts(run_id, _RECIPE, folder))
            recipe = Recipe.model_validate_json(path.read_text(encoding="utf-8"))
    except (MlflowException, OSError) as error:
        raise InputError(
            f"MLflow run {run_id!r} has no recipe ({error}): expected the id of a run of `kickwheel tune`", field="--from-run"
        ) from error
    return recipe, str(run.data.tags.get(WEIGHTS_TAG, ""))


class StudentRegistry:
    """Students of one kind of a domain: versions, the alias ``champion``, and the ledger of its moves."""

    def __init__(self, client: MlflowClient, domain: str, kind: str, ledger: Path):
        self._client, self._name, self._ledger = client, f"{domain}-{kind}", ledger

    def register(self, artifact: FolderRef, name: str, recorder: RunRecorder) -> str:
        """Attach the folder to the run and register it; the same folder is registered once. Returns the version."""
        try:
            self._client.get_registered_model(self._name)
        except MlflowException as error:
            if error.error_code not in _ABSENT:
                raise
            self._client.create_registered_model(self._name)
        for version in self._client.search_model_versions(f"name='{self._name}'"):
            if version.tags.get(_SHA) == artifact.sha256:
                return str(version.version)
        recorder.artifact(Path(artifact.path), "student")
        created = self._client.create_model_version(
            self._name,
            source=f"runs:/{recorder.run_id}/student",
            run_id=recorder.run_id,
            tags={_SHA: artifact.sha256, "kickwheel.folder": artifact.path},
            description=name,
        )
        return str(created.version)

    def champion(self, into: Path) -> Path | None:
        """Folder of the champion: where it was trained, else fetched from its run; None before the first promotion."""
        try:
            version = self._client.get_model_version_by_alias(self._name, CHAMPION)
        except MlflowException as error:
            if error.error_code in _ABSENT:
                return None
            raise
        here = Path(version.tags["kickwheel.folder"])
        if here.is_dir() and folder_ref(here).sha256 == version.tags[_SHA]:
            return here
        target = into / version.tags[_SHA][:16]
        if not target.is_dir():
            into.mkdir(parents=True, exist_ok=True)
            partial = tempfile.mkdtemp(dir=into, prefix=".fetch-")
            Path(self._client.download_artifacts(str(version.run_id), "student", partial)).rename(target)
        return target

    def promote(self, version: str, name: str, *, run_id: str, reasons: tuple[str, ...], by: str, at: str) -> None:
        """Move the alias and append to the ledger. Moving it to where it is already changes nothing."""
        model = self._client.get_registered_model(self._name)
        before = str(model.aliases[CHAMPION]) if CHAMPION in model.aliases else None
        if before == version:
            return
        self._client.set_registered_model_alias(self._name, CHAMPION, version)
        move = Move(at=at, by=by, from_version=before, to_version=version, adapter=name, run_id=run_id, reasons=reasons)
        append_durably(self._ledger, [move])
