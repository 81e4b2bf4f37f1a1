"""Overhead of the understanding API over its model server: ``python -m benchmarks.serving --json``.

`kickwheel serve` as it is (a token, records written to SQLite, cache on, every text new to it) runs alone on one core; the fake
model server, which answers after a set time, and the client run on another. The client offers requests at a constant rate,
whatever comes back, counts from each request's scheduled time, and asks the model server directly and through the API in turns.

``overhead_ms``: latencies through the API minus the median latency of direct requests, so that all that jitters is the API's.
A fake stands in for the model server, since what is measured is what comes on top of one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil

DOMAIN = Path(__file__).resolve().parents[1] / "examples" / "dataops"
TOKEN = "benchmark-" + "0" * 32
LIMITS_MS = {"p50": 4.0, "p99": 20.0}
Ask = Callable[[aiohttp.ClientSession, int], Any]


@dataclass
class Taken:
    """Latencies in ms, from the scheduled time, and what did not come back as 200."""

    latencies: list[float] = field(default_factory=list)
    failed: int = 0

    def percentiles(self, less: float = 0.0) -> dict[str, float]:
        values = np.percentile(np.asarray(self.latencies) - less, (50, 90, 95, 99, 100))
        return dict(zip(("p50", "p90", "p95", "p99", "max"), (round(float(value), 2) for value in values), strict=True))


def main() -> None:
    options = arguments()
    cores = sorted(os.sched_getaffinity(0))
    if options.fake_server:
        serve_fake(options.model_ms)
        return
    api_core, other_core = cores[0], cores[-1]
    os.sched_setaffinity(0, {other_core})
    with tempfile.TemporaryDirectory() as home, started(fake_command(options), other_core, {}) as fake:
        model_url = fake.told["url"]
        environment = {
            "KICKWHEEL_HOME": home,
            "KICKWHEEL_SERVING__TOKENS": f"bench:understand+admin:{TOKEN}",
            "KICKWHEEL_SERVING__FALLBACK": "none",
        }
        command = [sys.executable, "-c", "from kickwheel.cli import main; main()", "serve", str(DOMAIN)]
        command += ["--model-url", model_url, "--model", "base", "--port", "0", "--json"]
        with started(command, api_core, environment) as api:
            report = asyncio.run(measure(options, model_url, api.told["address"], psutil.Process(api.pid)))
    report |= {"cores": {"api": api_core, "model server and client": other_core}, "model_ms": options.model_ms}
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        over = report["overhead_ms"]
        print(f"overhead at {options.rate:g}/s: P50 {over['p50']:.1f} ms, P99 {over['p99']:.1f} ms; {report['failed']} failed")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=100.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a turn")
    parser.add_argument("--turns", type=int, default=3, help="of each way, after one that does not count")
    parser.add_argument("--model-ms", type=float, default=20.0, help="time that the fake model server takes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fake-server", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


async def measure(options: argparse.Namespace, model_url: str, api_url: str, api: psutil.Process) -> dict[str, Any]:
    """Both ways in turns, over connections that stay open."""
    direct, through, again = Taken(), Taken(), Taken()
    ways = [(direct, ask_model(model_url)), (through, ask_api(api_url, "{number}"))]
    seconds_of_api = 0.0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await ready(session, api_url)
        for turn in range(options.turns + 1):
            for taken, ask in ways:
                before = sum(api.cpu_times()[:2])
                found = await offer(session, ask, options.rate, options.seconds, first=100_000 * turn)
                if turn:
                    taken.latencies += found.latencies
                    taken.failed += found.failed
                    seconds_of_api += sum(api.cpu_times()[:2]) - before if taken is through else 0.0
        cached = await offer(session, ask_api(api_url, "again"), options.rate, options.seconds, first=0)
        again.latencies, again.failed = cached.latencies, cached.failed
    base = float(np.median(direct.latencies))
    overhead = through.percentiles(less=base)
    return {
        "rate": options.rate,
        "requests": len(through.latencies),
        "failed": direct.failed + through.failed + again.failed,
        "direct_ms": direct.percentiles(),
        "through_api_ms": through.percentiles(),
        "overhead_ms": overhead,
        "cached_ms": again.percentiles(),
        "api_cpu_share": round(seconds_of_api / (options.seconds * options.turns), 3),
        "limits_ms": LIMITS_MS,
        "holds": all(overhead[name] <= limit for name, limit in LIMITS_MS.items()) and not through.failed,
        "model_server": "fake (kickwheel.testing.model_server)",
    }


async def offer(session: aiohttp.ClientSession, ask: Ask, rate: float, seconds: float, *, first: int) -> Taken:
    """Send at a constant rate, whatever comes back."""
    taken, begin = Taken(), time.perf_counter() + 0.05

    async def one(number: int) -> None:
        scheduled = begin + number / rate
        await asyncio.sleep(max(0.0, scheduled - time.perf_counter()))
        try:
            good = await ask(session, first + number)
        except (aiohttp.ClientError, TimeoutError):
            good = False
        taken.failed += not good
        taken.latencies.append(1000 * (time.perf_counter() - scheduled))

    await asyncio.gather(*(one(number) for number in range(round(rate * seconds))))
    return taken


def ask_model(url: str) -> Ask:
    async def ask(session: aiohttp.ClientSession, number: int) -> bool:
        messages = [{"role": "system", "content": "Frame:"}, {"role": "user", "content": f"sync the orders of day {number}"}]
        body = {"model": "base", "messages": messages, "max_tokens": 64, "logprobs": True, "top_logprobs": 1}
        async with session.post(f"{url}/chat/completions", json=body) as answer:
            await answer.read()
            return answer.status == 200

    return ask


def ask_api(url: str, form: str) -> Ask:
    headers = {"Authorization": f"Bearer {TOKEN}"}

    async def ask(session: aiohttp.ClientSession, number: int) -> bool:
        body = {"text": f"sync the orders of day {form.format(number=number)}", "user": f"user-{number % 500}"}
        async with session.post(f"{url}/v1/understand", json=body, headers=headers) as answer:
            await answer.read()
            return answer.status == 200

    return ask


async def ready(session: aiohttp.ClientSession, url: str) -> None:
    for _ in range(600):
        async with session.get(f"{url}/readyz") as answer:
            if answer.status == 200:
                return
        await asyncio.sleep(0.1)
    raise SystemExit("the API was not ready within a minute")


@dataclass
class Started:
    """A process, and the JSON object that it said first."""

    pid: int
    told: dict[str, Any]


@contextmanager
def started(command: Sequence[str], core: int, environment: dict[str, str]) -> Iterator[Started]:
    """A process on one core, ended with the block."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"this did not start: {' '.join(command)}")
        yield Started(process.pid, json.loads(line))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def fake_command(options: argparse.Namespace) -> list[str]:
    return [sys.executable, "-m", "benchmarks.serving", "--fake-server", "--model-ms", str(options.model_ms)]


def serve_fake(model_ms: float) -> None:
    from kickwheel.testing.model_server import FakeModelServer

    with FakeModelServer(ttft_s=model_ms / 1000) as server:
        print(json.dumps({"url": server.url}), flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
