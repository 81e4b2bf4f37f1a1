"""From the event store to a trial's exposures: which unit saw which arm, how fast, and what became of its task."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kickwheel.distillation.outcomes import completed
from kickwheel.distillation.trial import NAMES, Exposure
from kickwheel.feedback.ports import Exchange
from kickwheel.serving.assignment import unit_of
from schemas.serving import Routing
from schemas.trial import TrialVerdict

SERVER_FAULT = 500


def exposures_of(exchanges: Iterable[Exchange], routing: Routing, *, since: datetime) -> list[Exposure]:
    """Answers of the routing's trial since it began. Shadow answers, which nobody saw, are none.

    Where the fallback answered in an arm's place, the arm failed. Records from before they named their trial count where one of
    the two versions answered.
    """
    versions = {routing.champion.name, routing.challenger.name if routing.challenger else ""}
    found = []
    for exchange in exchanges:
        record = exchange.record
        if record.at < since or record.arm not in NAMES or record.experiment not in ("", routing.experiment):
            continue
        known = record.model_version in versions
        if not known and not record.experiment:
            continue
        failed = record.frame is None or record.status >= SERVER_FAULT or not known
        found.append(
            Exposure(
                unit=unit_of(record.user, record.session, record.inference_id),
                arm=record.arm,
                intent=record.frame.intent if record.frame else "none",
                completed=False if failed else completed([kept.event for kept in exchange.events]),
                failed=failed,
                latency_ms=record.latency_ms,
                model=record.model_version,
            )
        )
    return found


def figures_of(verdict: TrialVerdict) -> dict[str, float]:
    """A trial's figures, for the ledger: those that are known."""
    values = {
        "trial_units_champion": verdict.champion.judged_units,
        "trial_units_challenger": verdict.challenger.judged_units,
        "trial_completion_champion": verdict.champion.completion,
        "trial_completion_challenger": verdict.challenger.completion,
        "trial_difference": verdict.difference,
        "trial_difference_low": verdict.low,
        "trial_difference_high": verdict.high,
        "trial_sample_ratio_p": verdict.sample_ratio_p,
    }
    return {name: float(value) for name, value in values.items() if value is not None}
