"""The three measurements of the engine, whole, with a stand-in for vLLM; a second run starts nothing again."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kickwheel.inference.server_profile import load_profile
from kickwheel.reporting.engine_plots import engine_plots
from kickwheel.reporting.engine_tables import arms_lines, cold_start_lines, search_lines
from kickwheel.settings import ServerSettings, Settings
from kickwheel.throughput.drift import BurstBaseline
from kickwheel.throughput.engine_bench_adapter import EngineBench, Load
from kickwheel.throughput.engine_runs import burst_words, run_arms, run_cold_start, run_search
from kickwheel.tracking.burst_baseline_adapter import last_burst
from kickwheel.tracking.engine_run_adapter import numbers, record_engine_run
from kickwheel.tracking.store_adapter import open_store
from schemas.engine import EngineReports
from schemas.utterance import Utterance

STAND_IN = """
import asyncio, os, sys
from kickwheel.testing.fast_server import Behaviour, serve
arguments = sys.argv[1:]
if "--block-size" in arguments and arguments[arguments.index("--block-size") + 1] == "32" and "--max-num-seqs" in arguments:
    if arguments[arguments.index("--max-num-seqs") + 1] == "64":
        sys.exit("no such setting")
name, port = (arguments[arguments.index(flag) + 1] for flag in ("--served-model-name", "--port"))
print("INFO version 0.32.0", flush=True)
with open({starts!r}, "a") as file:
    file.write(name + "\\n")
os.dup2(os.pipe()[0], 0)  # its standard input never ends: what ends it is a signal
asyncio.run(serve(Behaviour(model=name, port=int(port), ttft_s=0.005)))
"""


@dataclass
class Place:
    bench: EngineBench
    folder: Path
    merged_path: Path
    of: str = "f" * 64
    domain: str = "shop"
    progress: list[tuple[int, int]] = field(default_factory=list)

    def merged(self) -> Path:
        return self.merged_path

    def told(self, done: int, total: int) -> None:
        self.progress.append((done, total))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN.replace("{starts!r}", repr(str(tmp_path / "starts"))), encoding="utf-8")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"target_modules": ["q_proj"]}')
    for name in ("base", "merged"):
        (tmp_path / name).mkdir()
    rows = [Utterance(id=f"r{number}", text=f"copy order {number}", language="en") for number in range(8)]
    bench = EngineBench(
        ServerSettings(command=f"{sys.executable} {script}", start_timeout_s=60),
        tmp_path / "base",
        rows,
        Load(at_once=4, rate=20.0, requests=4, tokens=2),
        tmp_path / "logs",
        (("tuned", adapter),),
    )
    return Place(bench, tmp_path / "engine", tmp_path / "merged")


def starts(place: Place) -> int:
    return len((place.folder.parent / "starts").read_text(encoding="utf-8").splitlines())


def test_a_search_writes_the_profile_of_its_best_and_starts_nothing_twice(place: Place) -> None:
    profile = place.folder.parent / "profile.yaml"
    report = run_search(place, 3, profile, place.told)
    assert [bool(trial.figures) for trial in report.trials] == [True, False, True]
    assert "ended while it started" in report.trials[1].failed
    assert load_profile(profile).engine == report.trials[report.chosen - 1].settings
    assert any("chosen" in line for line in search_lines(report))
    before = starts(place)
    again = run_search(place, 3, profile, place.told)
    assert starts(place) == before
    assert [trial.figures for trial in again.trials] == [trial.figures for trial in report.trials]


def test_arms_are_measured_on_servers_that_are_all_up_and_taken_from_the_log_the_next_time(place: Place) -> None:
    report = run_arms(place, ("base", "adapter", "merged"), {"mixed": "one adapter"}, 2, place.told)
    assert starts(place) == 2
    assert [arm.arm for arm in report.arms] == ["base", "adapter", "merged"]
    assert all(arm.requests == 2 * (4 + 10) and not arm.errors for arm in report.arms)
    assert report.offered_rate == 20.0
    assert place.progress[-1] == (6, 6)
    assert any("merged over adapter" in line for line in arms_lines(report))
    assert run_arms(place, ("base", "adapter", "merged"), {}, 2, place.told).arms == report.arms
    assert starts(place) == 2


def test_a_cold_start_has_phases_first_requests_and_a_row_for_each_way(place: Place) -> None:
    report = run_cold_start(place, ("none", "full"), 1, place.told)
    assert [row.warm_up for row in report.rows] == ["none", "full"]
    assert [len(start.first_ms) for start in report.starts] == [3, 3]
    assert report.starts[0].warm_up_s == 0.0
    assert report.starts[1].warm_up_s > 0
    assert {"import", "serve", "first_token"} <= {phase.name for phase in report.starts[0].phases}
    assert "without compilation" in report.cache_reuse_reason
    assert any("| full | 1 |" in line for line in cold_start_lines(report))
    run_cold_start(place, ("none", "full"), 1, place.told)
    assert starts(place) == 2


def test_all_at_once_on_a_cold_server_is_held_against_the_version_before(place: Place) -> None:
    asked: list[str] = []

    def before(server: str) -> BurstBaseline:
        asked.append(server)
        return BurstBaseline("run-1", p95_ms=0.1, memory_mib=1.0)

    report = run_cold_start(place, ("none",), 1, place.told, at_once=6, baseline=before)
    assert report.burst is not None
    assert (report.burst.requests, report.burst.cold, report.burst.point.succeeded) == (6, True, 6)
    assert len(report.burst.alarms) == 2
    assert asked == ["vLLM fake on cpu, base"]
    assert starts(place) == 2
    assert any("6 at once, cold" in line and "memory is up" in line for line in cold_start_lines(report))


@pytest.mark.filterwarnings("default")  # MLflow's own dependencies warn
def test_a_cold_start_in_mlflow_is_what_the_next_one_is_compared_with(place: Place, tmp_path: Path) -> None:
    report = run_cold_start(place, ("none",), 1, place.told, at_once=3)
    settings = Settings(home=tmp_path / "home")
    client, experiment = open_store(settings, "shop")
    words = burst_words(report.server, report.device)
    assert last_burst(client, experiment, server=words, requests=3, cold=True) is None
    run = record_engine_run(
        settings, "shop", "engine cold-start", report, "table", plots=engine_plots(EngineReports(cold_start=report))
    )
    found = last_burst(client, experiment, server=words, requests=3, cold=True)
    assert found is not None
    assert report.burst is not None
    assert (found.run, found.p95_ms) == (run, report.burst.point.latency_ms.p95)
    assert last_burst(client, experiment, server=words, requests=4, cold=True) is None
    assert [item.path for item in client.list_artifacts(run, "plots")] == ["plots/engine_starts.svg"]


def test_numbers_of_a_report_go_by_names_that_mlflow_takes() -> None:
    values = {
        "blocks": 4,
        "ok": True,
        "none": None,
        "arms": [{"arm": "base", "rate": 2.0, "latency_ms": {"p50": 1.0}}],
        "ratios": [{"of": "merged", "over": "base", "figure": "rate", "ratio": 1.5, "low": float("inf")}],
        "words": ["a"],
    }
    assert dict(numbers(values)) == {
        "blocks": 4.0,
        "arms/base/rate": 2.0,
        "arms/base/latency_ms/p50": 1.0,
        "ratios/merged-base-rate/ratio": 1.5,
    }
