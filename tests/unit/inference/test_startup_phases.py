"""Phases of a start from the lines of vLLM 0.32 on a CPU and 0.24 on a GPU, on our own clock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kickwheel.inference.startup_phases import LogLine, compiles_from_cache, startup_phases
from kickwheel.inference.startup_watch_adapter import StartupWatch

CPU = [
    LogLine(8.0, "(APIServer pid=1) INFO [api_utils.py:347]   █▄█▀ █     version 0.32.0"),
    LogLine(8.1, "(APIServer pid=1) INFO [api_utils.py:286] non-default args: {'host': '127.0.0.1'}"),
    LogLine(15.0, "(EngineCore pid=2) INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='m'"),
    LogLine(20.0, "(Worker pid=3) INFO [cpu_model_runner.py:68] Starting to load model m..."),
    LogLine(21.5, "(Worker pid=3) INFO [default_loader.py:501] Loading weights took 1.28 seconds"),
    LogLine(22.0, "(EngineCore pid=2) INFO [kv_cache_utils.py:2327] CPU KV cache size: 46,592 tokens"),
    LogLine(24.0, "(EngineCore pid=2) INFO [core.py:402] init engine (profile, create kv cache, warmup model) took 2.33 s"),
]
GPU = [
    LogLine(20.0, "(APIServer pid=1) INFO [utils.py:299] non-default args: {}"),
    LogLine(30.0, "(EngineCore pid=2) INFO [core.py:115] Initializing a V1 LLM engine (v0.24.0) with config: model='m'"),
    LogLine(35.0, "(EngineCore pid=2) INFO [gpu_model_runner.py:5161] Starting to load model m..."),
    LogLine(36.0, "(EngineCore pid=2) INFO [default_loader.py:431] Loading weights took 0.60 seconds"),
    LogLine(37.0, "(EngineCore pid=2) INFO [gpu_model_runner.py:5256] Model loading took 0.95 GiB memory and 1.500000 seconds"),
    LogLine(70.0, "(EngineCore pid=2) INFO [monitor.py:53] torch.compile took 31.20 s in total"),
    LogLine(72.0, "(EngineCore pid=2) INFO [kv_cache_utils.py:2146] GPU KV cache size: 2,000,000 tokens"),
    LogLine(84.0, "(EngineCore pid=2) INFO [gpu_model_runner.py:6657] Graph capturing finished in 12 secs, took 0.50 GiB"),
]


def test_phases_of_a_cpu_start_add_up_to_the_first_token() -> None:
    phases = startup_phases(CPU, ready_s=26.0, first_token_s=0.5)
    assert {phase.name: phase.seconds for phase in phases} == pytest.approx(
        {
            "import": 8.0,
            "configure": 7.0,
            "engine": 5.0,
            "weights": 1.5,
            "kv_cache": 0.5,
            "serve": 4.0,
            "first_token": 0.5,
        }
    )
    assert sum(phase.seconds for phase in phases) == pytest.approx(26.5)
    assert next(phase.reported_s for phase in phases if phase.name == "weights") == 1.28


def test_phases_of_a_gpu_start_tell_compilation_from_graphs() -> None:
    phases = {phase.name: phase for phase in startup_phases(GPU, ready_s=86.0, first_token_s=0.1)}
    assert phases["weights"].seconds == pytest.approx(2.0)
    assert (phases["compile"].seconds, phases["compile"].reported_s) == (pytest.approx(33.0), 31.2)
    assert (phases["graphs"].seconds, phases["graphs"].reported_s) == (pytest.approx(12.0), 12.0)


def test_a_log_that_says_nothing_leaves_one_phase() -> None:
    assert [phase.name for phase in startup_phases([], ready_s=3.0, first_token_s=0.2)] == ["serve", "first_token"]


def test_a_compile_cache_is_recognised() -> None:
    assert compiles_from_cache(GPU) is False
    assert compiles_from_cache([*GPU, LogLine(40.0, "Directly load AOT compilation from path x")]) is True
    assert compiles_from_cache(CPU) is None


def test_lines_are_noted_when_they_come(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("of an earlier start\n")
    with StartupWatch(log) as watch, log.open("w", encoding="utf-8") as file:
        file.write("first\nsec")
        file.flush()
        while not watch.lines:
            time.sleep(0.01)
        file.write("ond\n")
    assert [line.text for line in watch.lines] == ["first", "second"]
    assert watch.lines[0].at <= watch.lines[1].at
