"""From the event store to a trial's exposures: which unit saw which arm, and what became of its task."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kickwheel.distillation.outcomes import completed
from kickwheel.distillation.trial import NAMES, Exposure
from kickwheel.feedback.ports import Exchange
from kickwheel.serving.assignment import unit_of
from schemas.serving import Routing

SERVER_FAULT = 500


def exposures_of(exchanges: Iterable[Exchange], routing: Routing, *, since: datetime) -> list[Exposure]:
    """Answers of the routing's two versions since the trial began. Shadow answers, which nobody saw, are none."""
    versions = {routing.champion.name, routing.challenger.name if routing.challenger else ""}
    found = []
    for exchange in exchanges:
        record = exchange.record
        if record.at < since or record.arm not in NAMES or record.model_version not in versions:
            continue
        failed = record.frame is None or record.status >= SERVER_FAULT
        found.append(
            Exposure(
                unit=unit_of(record.user, record.session, record.inference_id),
                arm=record.arm,
                intent=record.frame.intent if record.frame else "none",
                completed=False if failed else completed([kept.event for kept in exchange.events]),
                failed=failed,
                model=record.model_version,
            )
        )
    return found
