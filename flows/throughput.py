"""Stage 4: the adapter on a real server, under load; and the exact search, or one load, that a person asks for."""

from __future__ import annotations

from prefect import flow

from schemas.throughput import RateRequest, ThroughputReport
from schemas.tuning import TuningReport
from tasks import policies
from tasks.rate_search import place_for, put_one_load, search_rate
from tasks.recording import finish, finished, publish_load, recorded_stage
from tasks.throughput import load_test
from tasks.wiring import place_of


@flow(name="throughput", flow_run_name="throughput-{domain}", **policies.STAGE)
def throughput(domain: str = "examples/dataops", lap: int = 0) -> ThroughputReport:
    """Load-test base and adapter. lap: 0 takes the unfinished one, or opens the next."""
    place = place_of(domain, lap)
    if report := finished(place, "throughput", ThroughputReport):
        return report
    with recorded_stage(place, "throughput") as run:
        adapter = place.lap.load("tuning", TuningReport).adapter
        report = load_test(place, adapter)
        publish_load(place, run, report)
        return finish(place, "throughput", report, run)


@flow(name="largest-rate", flow_run_name="largest-rate-{domain}", **policies.STAGE)
def largest_rate(domain: str = "examples/dataops", request: RateRequest = RateRequest()) -> ThroughputReport:  # noqa: B008
    """Search the largest rate that holds an SLO.

    Args:
        domain: The domain's folder.
        request: The objective, the server and the model, and how exact the answer is to be.
    """
    return search_rate(place_for(domain, request), request)


@flow(name="load-test", flow_run_name="load-test-{domain}", **policies.STAGE)
def one_load(domain: str = "examples/dataops", request: RateRequest = RateRequest()) -> ThroughputReport:  # noqa: B008
    """Put one load on a server: constant, poisson, steps, ramp, burst, trace or a closed loop.

    Args:
        domain: The domain's folder.
        request: The load, the server and the model, and the objective that the report holds it against.
    """
    return put_one_load(place_for(domain, request), request)
