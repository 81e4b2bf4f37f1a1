"""Measurements of the engine as runs of the domain's MLflow experiment, beside its laps."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel

from kickwheel.settings import Settings
from kickwheel.throughput.engine_runs import burst_words
from kickwheel.tracking.burst_baseline_adapter import SERVER_TAG
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tracking.stage_values import burst_values
from kickwheel.tracking.store_adapter import open_store
from schemas.engine import ColdStartReport

KIND_TAG = "kickwheel.kind"


def record_engine_run(
    settings: Settings,
    domain: str,
    kind: str,
    report: BaseModel,
    table: str,
    files: Sequence[Path] = (),
    plots: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One finished run: the report's numbers as metrics; the report, its table and its plots as artifacts. Returns its id.

    A cold start's burst is kept as a load test's is, so that the next version is compared with it.
    """
    client, experiment = open_store(settings, domain)
    run = client.create_run(experiment, run_name=kind, tags={KIND_TAG: kind})
    recorder = RunRecorder(client, str(run.info.run_id))
    values = report.model_dump(mode="json")
    recorder.params({name: values[name] for name in ("server", "device", "model") if name in values})
    recorder.metrics(dict(numbers(values)))
    client.log_text(recorder.run_id, json.dumps(values, indent=1), "report.json")
    client.log_text(recorder.run_id, table + "\n", "report.md")
    for name, svg in plots.items():
        client.log_text(recorder.run_id, svg, f"plots/{name}.svg")
    if isinstance(report, ColdStartReport) and report.burst is not None:
        recorder.tag(SERVER_TAG, burst_words(report.server, report.device))
        recorder.metrics(burst_values(report.burst))
    for file in files:
        recorder.artifact(file)
    client.set_terminated(recorder.run_id)
    return recorder.run_id


def numbers(values: Mapping[str, object], before: str = "") -> Iterator[tuple[str, float]]:
    """The report's finite numbers under names that MLflow takes; rows of lists go by their name, arm or number."""
    for name, value in values.items():
        path = f"{before}{name}"
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float) and math.isfinite(value):
            yield path, float(value)
        elif isinstance(value, Mapping):
            yield from numbers(value, f"{path}/")
        elif isinstance(value, list):
            for place, item in enumerate(value, start=1):
                if isinstance(item, Mapping):
                    yield from numbers(item, f"{path}/{_key(item, place)}/")


def _key(item: Mapping[str, object], place: int) -> str:
    if "of" in item and "over" in item:
        return f"{item['of']}-{item['over']}-{item.get('figure', '')}"
    return str(next((item[name] for name in ("name", "arm", "warm_up") if name in item), place)).replace(" ", "_")
