"""A person's word on a promotion: what a flow run shows, asks and does with the answer."""

from __future__ import annotations

from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import pause_flow_run, suspend_flow_run
from prefect.input import RunInput
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from prefect.states import Failed
from pydantic import Field

from kickwheel.errors import InputError
from kickwheel.promotion.opening_adapter import open_mover
from schemas.promotion import Move
from schemas.review import ReviewerName
from tasks.wiring import Place


class Approval(RunInput):
    """The word of a person."""

    approver: ReviewerName = Field(description="Who decides")
    approve: bool = Field(default=False, description="Put it in service; left unticked, it stays out")
    reason: str = Field(default="", description="Why, for the ledger")


def wait_for_approval(place: Place, version: str) -> tuple[Approval | None, str]:
    """Wait for a person; None: nobody came in time. Also returns the version that was asked about.

    A run of a deployment is suspended: its process ends, and it starts from the top when it is resumed. The pause's key is
    that of the version, the same in each start, so that an answered question is not asked again (PrefectHQ/prefect 18326).

    Raises:
        InputError: there is no version to ask about.
    """
    mover = open_mover(place.domain, place.settings)
    asked = version or mover.aliases.alias("challenger") or ""
    if not asked:
        raise InputError("no version has the alias challenger, so there is nothing to approve (kickwheel history)")
    target = mover.aliases.version(asked)
    key = f"promotion-{place.domain.name.replace('_', '-')}"
    told = (
        f"**Version {asked}** ({target.name}) in the place of version {mover.aliases.alias('champion') or 'none'}?\n\n"
        f"Gate: {target.gate or 'it never stood before the gate'}\n\nResume this run with your word."
    )
    create_markdown_artifact(told, key=key, description="A version that waits for a person's word")
    form = Approval.with_initial_data(description=told, approve=False)
    seconds = max(1, round(place.settings.promotion.wait_hours * 3600))
    try:
        if deployment.id:
            return suspend_flow_run(wait_for_input=form, timeout=seconds, key=f"{key}-{asked}"), asked
        poll = min(10, max(1, seconds // 20))
        return pause_flow_run(wait_for_input=form, timeout=seconds, poll_interval=poll, key=f"{key}-{asked}"), asked
    except FlowPauseTimeout:
        return None, asked


def carry_out(place: Place, version: str, approval: Approval) -> Move | State[None]:
    """Promote, or leave everything as it is; both say who decided."""
    if not approval.approve:
        get_run_logger().info("promotion: %s keeps version %s out (%s)", approval.approver, version, approval.reason)
        message = f"{approval.approver} keeps version {version} out: {approval.reason or 'no reason given'}"
        return Failed(name="Refused", message=message)
    mover = open_mover(place.domain, place.settings, by=approval.approver)
    gate = mover.aliases.version(version).gate
    reasons = tuple(text for text in (f"approved: {approval.reason or 'no reason given'}", gate and f"gate: {gate}") if text)
    return mover.promote(version, reasons=reasons)


def unapproved(place: Place, version: str) -> State[None]:
    """The run's last state where nobody came."""
    hours = place.settings.promotion.wait_hours
    get_run_logger().warning("promotion: nobody said anything about version %s within %g hours; it stays out", version, hours)
    return Failed(name="Waiting for approval", message="nobody came")
