"""Where MLflow's store is, and making it before anything runs in parallel.

The URI is always set by us: MLflow's own default depends on the working directory and on old ``mlruns`` folders
(mlflow/mlflow PR 18497). The first connection migrates the SQLite schema, so it is done once, alone (daizutabi/hydraflow 245).
"""

from __future__ import annotations

import os
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from kickwheel.settings import Settings


def tracking_uri(settings: Settings) -> str:
    """``settings.tracking_uri``, else ``MLFLOW_TRACKING_URI``, else a SQLite file under ``home``."""
    configured = settings.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI", "")
    return configured or f"sqlite:///{settings.home.resolve() / 'mlflow.db'}"


def artifact_root(home: Path) -> str:
    """Where a local store keeps artifacts: beside its database, whatever the working directory."""
    return (home.resolve() / "mlartifacts").as_uri()


def open_store(settings: Settings, experiment: str) -> tuple[MlflowClient, str]:
    """Client and experiment id; store and experiment are made if need be."""
    settings.home.mkdir(parents=True, exist_ok=True)
    uri = tracking_uri(settings)
    mlflow.set_tracking_uri(uri)
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(experiment)
    if found is not None:
        return client, str(found.experiment_id)
    location = f"{artifact_root(settings.home)}/{experiment}" if uri.startswith("sqlite:") else None
    try:
        return client, str(client.create_experiment(experiment, artifact_location=location))
    except MlflowException:
        # Another process made it between the question and the answer.
        found = client.get_experiment_by_name(experiment)
        if found is None:
            raise
        return client, str(found.experiment_id)
