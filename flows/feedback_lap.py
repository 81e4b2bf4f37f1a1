"""A lap at noon: distil what users have said since, if it is enough, without the stages before."""

from __future__ import annotations

from prefect import flow

from flows.iteration import iteration
from schemas.triggers import DistillOutcome
from tasks import policies
from tasks.feedback_lap import look, one_at_a_time, outcome_of, prepare_lap
from tasks.wiring import place_of


@flow(name="feedback_lap", flow_run_name="feedback-{domain}", **policies.STAGE)
def feedback_lap(domain: str = "examples/dataops", by_hand: bool = False) -> DistillOutcome:
    """Distil new evidence in a lap of its own.

    Args:
        domain: The domain's folder.
        by_hand: Run on any new evidence, however little.
    """
    place = place_of(domain, 0)
    with one_at_a_time(place):
        seen = look(place, by_hand)
        if not seen.verdict.due:
            return outcome_of(place, seen, None)
        prepare_lap(place)  # the last lap's catalogue, rows and adapter stand in for the stages before
        report = iteration(domain, place.lap.number, ["distillation"])
        return outcome_of(place, seen, report.distillation)
