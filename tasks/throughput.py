"""Tasks of the throughput stage."""

from __future__ import annotations

from pathlib import Path

from prefect import task

from kickwheel.errors import ServerFailed
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.served_student import MAX_TOKENS
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.warmup import warm_up
from kickwheel.throughput.generator_adapter import OpenLoopGenerator
from kickwheel.throughput.measure import measure, typical_output_tokens
from schemas.throughput import ThroughputReport
from schemas.tuning import AdapterArtifact
from tasks import policies
from tasks.progress import progress_of
from tasks.wiring import Endpoint, Place, chat_client, missing_server, running_server

LENGTH_SAMPLE = 16
"""Evaluation utterances answered before the load, to learn how long the adapter's replies are."""


@task(task_run_name="load test", **policies.INFERENCE)
def load_test(place: Place, adapter: AdapterArtifact) -> ThroughputReport:
    """Base and adapter under the same steps, on a server that has answered nothing yet; 'not measured' where there is none."""
    settings = place.settings.throughput
    if reason := missing_server(place):
        return ThroughputReport(measured=False, not_measured_reason=reason, slo=settings.slo)
    texts = [row.text for row in place.domain.rows("eval")]
    try:
        with (
            running_server(place, "throughput") as server,
            chat_client(place, Endpoint(server.url, server.base_name)) as base,
            chat_client(place, Endpoint(server.url, adapter.name)) as tuned,
        ):
            server.load_adapter(adapter.name, Path(adapter.folder.path).resolve())
            request = ChatRequest(messages=student_messages(texts[0]), max_tokens=MAX_TOKENS)
            warmup_s = warm_up(base, [request]) + warm_up(tuned, [request])
            length = typical_output_tokens(tuned, texts[:LENGTH_SAMPLE], max_tokens=MAX_TOKENS)
            return measure(
                OpenLoopGenerator(server.url, output_tokens=length),
                {"base": server.base_name, "adapter": adapter.name},
                texts,
                settings,
                seed=place.settings.seed,
                server=f"{server.version} on {place.settings.server.device}",
                engine_settings={**server.engine_settings, "output_tokens": str(length)},
                startup_s=server.startup_s,
                warmup_s=warmup_s,
                progress=progress_of("load steps"),
            )
    except ServerFailed as error:
        # The lap goes on: what was tuned is still worth distilling. The report says why there are no figures.
        return ThroughputReport(measured=False, not_measured_reason=str(error), slo=settings.slo)
