"""The three measurements of the engine, whole, with a stand-in for vLLM; a second run starts nothing again."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kickwheel.inference.server_profile import load_profile
from kickwheel.reporting.engine_tables import arms_lines, cold_start_lines, search_lines
from kickwheel.settings import ServerSettings
from kickwheel.throughput.engine_bench_adapter import EngineBench, Load
from kickwheel.throughput.engine_runs import run_arms, run_cold_start, run_search
from kickwheel.tracking.engine_run_adapter import numbers
from schemas.utterance import Utterance

STAND_IN = """
import sys, time
from kickwheel.testing.model_server import FakeModelServer
arguments = sys.argv[1:]
if "--block-size" in arguments and arguments[arguments.index("--block-size") + 1] == "32" and "--max-num-seqs" in arguments:
    if arguments[arguments.index("--max-num-seqs") + 1] == "64":
        sys.exit("no such setting")
name, port = (arguments[arguments.index(flag) + 1] for flag in ("--served-model-name", "--port"))
print("INFO version 0.32.0", flush=True)
with open({starts!r}, "a") as file:
    file.write(name + "\\n")
with FakeModelServer(base_name=name, port=int(port), ttft_s=0.005):
    time.sleep(600)
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
