"""The burst of the version before, as MLflow keeps it."""

from __future__ import annotations

from mlflow import MlflowClient

from kickwheel.throughput.drift import BurstBaseline

SERVER_TAG = "kickwheel.load.server"
"""Engine, version, device and arm of a load test: bursts on other ones are not compared."""


def last_burst(client: MlflowClient, experiment_id: str, *, server: str, requests: int, cold: bool) -> BurstBaseline | None:
    """The newest finished run with a burst of as many requests on the same kind of server; None where there is none."""
    quoted = server.replace("'", "")
    runs = client.search_runs(
        [experiment_id],
        f"attributes.status = 'FINISHED' and tags.`{SERVER_TAG}` = '{quoted}' and metrics.`burst/requests` = {requests} "
        f"and metrics.`burst/cold` = {int(cold)}",
        max_results=1,
        order_by=["attributes.start_time DESC"],
    )
    if not runs or "burst/p95_ms" not in runs[0].data.metrics:
        return None
    metrics = runs[0].data.metrics
    return BurstBaseline(runs[0].info.run_id, metrics["burst/p95_ms"], metrics.get("burst/memory_mib"))
