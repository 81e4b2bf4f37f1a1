"""The champion of a domain, for commands that serve it."""

from __future__ import annotations

from pathlib import Path

from mlflow import MlflowClient

from kickwheel.settings import Settings
from kickwheel.tracking.registry_adapter import AdapterRegistry
from kickwheel.tracking.store_adapter import tracking_uri
from schemas.tuning import AdapterArtifact


def champion_of(settings: Settings, domain: str) -> AdapterArtifact | None:
    """The adapter in service; None before the first promotion. A store that is not there yet is not made."""
    uri = tracking_uri(settings)
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).is_file():
        return None
    home = settings.home / domain
    return AdapterRegistry(MlflowClient(uri), domain, home / "promotions.jsonl").champion(into=home / "adapters")
