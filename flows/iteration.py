"""One lap of the wheel: from requirement documents to a served, measured and improved model."""

from __future__ import annotations

from prefect import flow

from flows.distillation import distillation
from flows.intent import intent
from flows.seeding import seeding
from flows.throughput import throughput
from flows.tuning import tuning
from schemas.lap import STAGES, LapReport, Stage
from tasks import policies
from tasks.recording import recorded_lap
from tasks.report import report_lap
from tasks.wiring import one_server, place_of


@flow(name="iteration", flow_run_name="{domain}", **policies.STAGE)
def iteration(domain: str = "examples/dataops", lap: int = 0, stages: list[Stage] = list(STAGES)) -> LapReport:  # noqa: B006
    """Run one lap of a domain. What the lap has already finished is not done again.

    Args:
        domain: The domain's folder.
        lap: Its number; 0 takes up the unfinished lap, or opens the next.
        stages: The stages to run; all of them make a whole lap.
    """
    place = place_of(domain, lap)
    lap = place.lap.number
    with recorded_lap(place) as run:
        if "intent" in stages:
            intent(domain, lap)  # requirement documents -> TaskSchemas
        with one_server(place):
            if "seeding" in stages:
                seeding(domain, lap)  # TaskSchemas, seeds, pool -> labelled rows
            if "tuning" in stages:
                tuning(domain, lap)  # labelled rows -> an evaluated LoRA adapter
        with one_server(place):  # the load test wants one without cached prefixes
            if "throughput" in stages:
                throughput(domain, lap)  # the served adapter -> what it holds under load
            if "distillation" in stages:
                distillation(domain, lap)  # feedback -> a gated, better adapter
        return report_lap(place, run)
