"""What the steps of the GPU benchmark share: results on disk, the time that is left, texts, and figures in short."""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kickwheel.inference.vllm_adapter import RunningServer
from schemas.throughput import LoadPoint

LARGE_PROMPT = 256
"""Tokens of the 8 B shape's prompts, about."""


@dataclass
class Lab:
    """What all steps share; results are on disk before the next step begins."""

    work: Path
    options: argparse.Namespace
    begin: float
    texts: list[str]
    servers: dict[str, RunningServer] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        return self.work / "results.jsonl"

    def done(self) -> dict[str, Any]:
        """Finished steps; a line torn by a kill is no step."""
        found: dict[str, Any] = {}
        for line in self.log.read_text(encoding="utf-8").splitlines() if self.log.is_file() else []:
            try:
                step = json.loads(line)
            except ValueError:
                continue
            found[step["step"]] = step["result"]
        return found

    def left(self) -> float:
        """Seconds that this call may still take."""
        return float(self.options.limit - (time.monotonic() - self.begin))

    def step(self, name: str, seconds: float, measure: Callable[[], Any]) -> Any:
        """The step's result: kept, or measured now if ``seconds`` are left; else the call ends.

        Raises:
            TimeoutError: too little time is left.
        """
        if name in (known := self.done()):
            return known[name]
        if self.left() < seconds:
            raise TimeoutError(f"{name} needs about {seconds:.0f} s, {self.left():.0f} are left: call again")
        begin = time.monotonic()
        result = measure()
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": name, "seconds": time.monotonic() - begin, "result": result}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        say(f"{name}: {time.monotonic() - begin:.1f} s, {self.left():.0f} s left")
        return result


def machine() -> dict[str, Any]:
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        chip = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        chip = "no GPU"
    return {"chip": chip, "cores": os.cpu_count(), "python": platform.python_version(), "date": time.strftime("%Y-%m-%d")}


def short(point: LoadPoint) -> dict[str, Any]:
    """The figures of a step that the table and a reader need."""
    return {
        "offered": point.offered_rate,
        "achieved": round(point.achieved_rate, 2),
        "sent": point.sent,
        "errors": point.errors,
        "p50_ms": point.latency_ms.p50,
        "p99_ms": point.latency_ms.p99,
        "ttft_p50_ms": point.ttft_ms.p50,
        "ttft_p99_ms": point.ttft_ms.p99,
        "tokens_out_s": round(point.completion_tokens_per_s),
        "tokens_in_s": round(point.prompt_tokens_per_s or 0),
        "holds": point.holds_slo,
        "void": point.void,
        "stopped_early": point.stopped_early,
        "send_delay_p99_ms": round(point.send_delay_p99_ms, 2),
        "max_in_flight": point.max_in_flight,
    }


def utterances() -> list[str]:
    path = Path(__file__).resolve().parents[1] / "examples" / "dataops" / "pool.jsonl"
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def long_texts(texts: list[str], tokens: int = LARGE_PROMPT) -> list[str]:
    """Prompts of about so many tokens: utterances after one another, in another order each, about 2.2 tokens a word."""
    rng = random.Random(0)
    found = []
    for _ in range(1024):
        words: list[str] = []
        while len(words) < tokens / 1.6:
            words += rng.choice(texts).split()
        found.append(" ".join(words[: int(tokens / 1.6)]))
    return found


def is_gpu(lab: Lab) -> bool:
    return bool(lab.options.device == "gpu")


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
