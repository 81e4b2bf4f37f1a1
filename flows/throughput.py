"""Stage 4: the adapter on a real server, under load."""

from __future__ import annotations

from prefect import flow

from schemas.throughput import ThroughputReport
from schemas.tuning import TuningReport
from tasks import policies
from tasks.recording import finish, finished, recorded_stage
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
        return finish(place, "throughput", load_test(place, adapter), run)
