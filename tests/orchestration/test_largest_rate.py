"""`kickwheel throughput` as the flow that it starts: the number, its exit, a resumed search, a server that dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from kickwheel.domain import load_domain
from kickwheel.inference.frame_codec import encode_frame
from kickwheel.testing.fast_server import Behaviour
from kickwheel.testing.fast_server_process import FastServer
from kickwheel.testing.sample_report import sample_catalog
from kickwheel.throughput.runs import find_run
from kickwheel.workspace import open_lap
from schemas.throughput import LoadShape, RateRequest, Slo, ThroughputReport

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("default"),  # Prefect's and MLflow's own dependencies warn
]

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = ROOT / "examples" / "dataops"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    lap = open_lap(tmp_path / "home", "dataops")
    lap.finish("intent", sample_catalog(), "inputs")
    return tmp_path / "home"


def behaviour(**changes: object) -> Behaviour:
    """So slow that a busy machine's late sending is far below the 5 % of the latency that void a step."""
    rows = load_domain(DOMAIN).rows("eval")
    right = {row.text: encode_frame(row.frame) for row in rows if row.frame}
    return Behaviour(**{"ttft_s": 1.5, "token_s": 0.01, "parallel": 40, "replies": right, **changes})  # type: ignore[arg-type]


@pytest.fixture
def server() -> Iterator[FastServer]:
    with FastServer(behaviour()) as running:
        yield running


def search(server: FastServer, **changes: object) -> ThroughputReport:
    from flows.throughput import largest_rate

    request = RateRequest.model_validate(
        {
            "url": server.url, "model": "base", "slo": Slo(p99_ms=6000.0), "start_rate": 8.0, "tolerance": 0.8,
            "min_requests": 12, "step_s": 0.5, "unloaded_requests": 2, "max_points": 2, **changes,
        }
    )  # fmt: skip
    return largest_rate(domain=str(DOMAIN), request=request)


def test_the_number_stands_in_the_report_in_mlflow_and_on_the_page(home: Path, server: FastServer) -> None:
    report = search(server, burst=12)
    (found,) = report.searches
    assert report.measured
    assert found.largest_rate > 0
    assert report.burst is not None
    assert report.burst.point.sent == 12
    assert not report.burst.cold
    assert all(point.server and point.server.running_max is not None for point in report.points)
    folder = Path(report.html or "").parent
    assert ThroughputReport.model_validate_json((folder / "report.json").read_text(encoding="utf-8")) == report
    assert "largest rate of base" in (folder / "report.html").read_text(encoding="utf-8")

    client = MlflowClient(f"sqlite:///{home / 'mlflow.db'}")
    (run,) = client.search_runs([item.experiment_id for item in client.search_experiments()], "attributes.status = 'FINISHED'")
    assert run.data.metrics["largest_rate/base"] == found.largest_rate
    assert run.data.metrics["burst/requests"] == 12
    names = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert {"load_points.json", "plots", "report.html", "report.json"} <= names

    again = search(server, burst=12)
    assert again.burst is not None
    assert again.burst.compared_with == run.info.run_id
    assert Path(again.html or "").parent.name == "0002"


def test_one_load_in_steps_is_reported_whole_and_rate_by_rate(home: Path, server: FastServer) -> None:
    from flows.throughput import one_load

    load = LoadShape(kind="steps", rates=(8.0, 16.0), seconds=0.5)
    request = RateRequest(url=server.url, model="base", slo=Slo(p99_ms=6000.0), unloaded_requests=1, load=load)
    report = one_load(domain=str(DOMAIN), request=request)
    assert [(point.schedule, point.sent) for point in report.points] == [
        ("steps of 0.5 s", 12),
        ("constant", 4),
        ("constant", 8),
    ]
    page = Path(report.html or "").read_text(encoding="utf-8")
    assert "Steps of 8, 16 requests/s, 0.5 s each." in page
    client = MlflowClient(f"sqlite:///{home / 'mlflow.db'}")
    (run,) = client.search_runs([item.experiment_id for item in client.search_experiments()], "attributes.status = 'FINISHED'")
    assert run.info.run_name == "load-test"
    assert run.data.metrics["load/sent"] == 12
    assert not [name for name in run.data.metrics if name.startswith("largest_rate")]


def test_latency_without_load_that_misses_is_a_rate_of_0(home: Path, server: FastServer) -> None:
    report = search(server, slo=Slo(p99_ms=5.0))
    (found,) = report.searches
    assert (found.largest_rate, found.ended_by, report.points) == (0.0, "unloaded_misses", ())
    assert (found.unloaded_p99_ms or 0) > 5
    assert report.html


def test_a_server_that_dies_in_a_step_ends_in_a_report_and_is_taken_up_by_no_one(home: Path) -> None:
    with FastServer(behaviour(die_at=8)) as server:
        report = search(server)
    assert not report.measured
    assert "died" in (report.not_measured_reason or "")
    assert report.points[-1].errors
    assert report.searches[0].ended_by == "server_died"
    assert Path(report.html or "").is_file()
    assert find_run(home, "dataops", "other inputs").name == "0002"


def test_a_killed_search_goes_on_with_the_steps_it_has(home: Path, server: FastServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from kickwheel.throughput.generator_adapter import ProcessGenerator

    run, calls = ProcessGenerator.run, []

    def killed(self: ProcessGenerator, plan: object) -> object:
        calls.append(plan)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(self, plan)  # type: ignore[arg-type]

    monkeypatch.setattr(ProcessGenerator, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        search(server)
    (log,) = (home / "dataops" / "throughput").glob("*/points.jsonl")
    before = [json.loads(line)["key"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert len(before) == 2
    report = search(server)
    after = [json.loads(line)["key"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert after[:2] == before
    assert len(after) == len(report.points) + 1
