"""Promotion with a person's word: wait for it, then put the version in service, or keep it out."""

from __future__ import annotations

from prefect import flow
from prefect.client.schemas.objects import State

from schemas.promotion import Move
from tasks import policies
from tasks.promotion import carry_out, unapproved, wait_for_approval
from tasks.wiring import place_of


@flow(name="promotion", flow_run_name="promotion-{domain}", **policies.STAGE)
def promotion(domain: str = "examples/dataops", version: str = "") -> Move | State[None]:
    """Ask a person about a version. version: empty takes the one under the alias challenger."""
    place = place_of(domain, 0)
    approval, asked = wait_for_approval(place, version)
    if approval is None:
        return unapproved(place, asked)
    return carry_out(place, asked, approval)
