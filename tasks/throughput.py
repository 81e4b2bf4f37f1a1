"""Tasks of the throughput stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from prefect import task

from kickwheel.errors import ServerFailed
from kickwheel.inference.frame_codec import frame_json_schema
from kickwheel.inference.openai_adapter import is_local
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.served_student import MAX_TOKENS
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.vllm_adapter import RunningServer
from kickwheel.inference.warmup import warm_up
from kickwheel.settings import ThroughputSettings
from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.cores_adapter import CorePlan, only_on, own_cores, plan_cores
from kickwheel.throughput.drift import judged_burst
from kickwheel.throughput.generator_adapter import ProcessGenerator
from kickwheel.throughput.measure import measure
from kickwheel.throughput.point_log import PointLog
from kickwheel.throughput.watch_adapter import MetricsWatch
from kickwheel.tracking.burst_baseline_adapter import last_burst
from schemas.throughput import Burst, ThroughputReport
from schemas.tuning import AdapterArtifact
from tasks import policies
from tasks.progress import progress_of
from tasks.wiring import Endpoint, Place, chat_client, missing_server, running_server, tracker

POINTS = "points.jsonl"


@task(task_run_name="load test", **policies.INFERENCE)
def load_test(place: Place, adapter: AdapterArtifact) -> ThroughputReport:
    """The adapter's largest rate, its base beside it, on a server that has answered nothing yet; 'not measured' without one."""
    settings = place.settings.throughput
    if reason := missing_server(place):
        return ThroughputReport(measured=False, not_measured_reason=reason, slo=settings.slo)
    try:
        with served(place, settings) as (server, cores):
            server.load_adapter(adapter.name, Path(adapter.folder.path).resolve())
            log = PointLog(place.work("throughput") / POINTS)
            bench = bench_of(place, server, settings, cores, log)
            arm = Arm("adapter", (adapter.name,), schema=schema_of(place, settings))
            base = Arm("base", (server.base_name,))
            burst = first_burst(place, bench, arm, server, settings)
            warmup_s = sum(warmed_up(place, server, model) for model in (*base.models, *arm.models))
            return measure(
                bench,
                arm,
                (base,),
                server=server_words(place, server),
                engine_settings=server.engine_settings,
                startup_s=server.startup_s,
                warmup_s=warmup_s,
                burst=burst,
                cores=cores.said,
                progress=progress_of("load steps, at most"),
            )
    except ServerFailed as error:
        # The lap goes on: what was tuned is still worth distilling. The report says why there are no figures.
        return ThroughputReport(measured=False, not_measured_reason=str(error), slo=settings.slo)


@contextmanager
def served(place: Place, settings: ThroughputSettings, log: Path | None = None) -> Iterator[tuple[RunningServer, CorePlan]]:
    """The server, and what was done about the cores. log: of a server outside a lap."""
    url = place.settings.server.url
    plan = plan_cores(
        settings.cores,
        own_cores(),
        ours=not url,
        on_cpu=place.settings.server.device == "cpu",
        local=not url or is_local(url),
    )
    with ExitStack() as serving:
        with only_on(plan.server):  # the server inherits the cores of this thread
            server = serving.enter_context(running_server(place, "throughput", log))
        yield server, plan


def bench_of(place: Place, server: RunningServer, settings: ThroughputSettings, cores: CorePlan, log: PointLog | None) -> Bench:
    """The steps' generator, watch and rows."""
    pid = server.process.pid if server.process else None
    key = server.api_key.get_secret_value()
    on_gpu = place.on_gpu and pid is not None
    return Bench(
        ProcessGenerator(server.url, request_limit_s=settings.request_limit_s, cores=cores.generator, api_key=key),
        place.domain.rows("eval"),
        settings,
        place.settings.seed,
        catalog=place.catalog,
        watch=MetricsWatch(server.url, every_s=settings.scrape_s, pid=pid, gpus=on_gpu, api_key=key),
        log=log,
    )


def first_burst(place: Place, bench: Bench, arm: Arm, server: RunningServer, settings: ThroughputSettings) -> Burst | None:
    """All at once before any warm-up, beside the version before; None where the settings ask for none."""
    if not settings.burst:
        return None
    point, cold = bench.burst(arm), server.startup_s is not None
    runs = tracker(place)
    words = f"{server_words(place, server)}, {arm.name}"
    baseline = last_burst(runs.client, runs.experiment_id, server=words, requests=settings.burst, cold=cold)
    return judged_burst(point, settings.burst, baseline, cold=cold)


def warmed_up(place: Place, server: RunningServer, model: str) -> float:
    """Seconds until the model's latency was steady."""
    request = ChatRequest(messages=student_messages("warm up"), max_tokens=MAX_TOKENS)
    with chat_client(place, Endpoint(server.url, model)) as client:
        return warm_up(client, [request])


def schema_of(place: Place, settings: ThroughputSettings) -> dict[str, object] | None:
    """The frames' JSON Schema where replies are to keep to it."""
    return frame_json_schema(place.catalog) if settings.structured else None


def server_words(place: Place, server: RunningServer) -> str:
    """Engine, version and device."""
    return f"{server.version} on {place.settings.server.device}"
