"""What has been kept long enough goes."""

from __future__ import annotations

from prefect import flow

from schemas.events import Erased
from tasks import policies
from tasks.retention import prune


@flow(name="retention", flow_run_name="retention-{domain}", **policies.STAGE)
def retention(domain: str = "examples/dataops") -> Erased:
    """Remove answers and events of a domain that are older than feedback.retention_days. domain: its folder."""
    return prune(domain)
