"""A promotion and a rollback under load: seconds until the other version answers, and requests that failed meanwhile.

    python -m benchmarks.promotion --json            # fake model server, real API process, real registry
    python -m benchmarks.promotion --vllm --json     # a real vLLM with real (untrained) adapters

`kickwheel serve` runs as a process of its own; a client asks it at a constant rate. The clock starts when the adapter lies on
disk, registered, and `promote` is called; it stops at the first answer that names the new version. Then `rollback`, so too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from benchmarks.serving import DOMAIN, TOKEN, ready, started

LIMIT_S = 5.0


@dataclass
class Seen:
    """Answers in the order in which they came: when, by which version, after how long. Failures with their time."""

    answers: list[tuple[float, str, float]] = field(default_factory=list)
    failures: list[tuple[float, str]] = field(default_factory=list)

    def first(self, version: str, after: float) -> float | None:
        """When the first answer of a version came."""
        return next((at for at, name, _ in self.answers if name == version and at >= after), None)


async def offer(url: str, rate: float, seen: Seen, stop: asyncio.Event) -> None:
    """Ask at a constant rate, whatever comes back, until ``stop``; then wait for what was begun."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    running: set[asyncio.Task[None]] = set()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one(number: int) -> None:
            sent = time.perf_counter()
            body = {"text": f"sync the orders of day {number}", "user": f"user-{number % 500}"}
            try:
                async with session.post(f"{url}/v1/understand", json=body, headers=headers) as answer:
                    told = await answer.json()
                    if answer.status != 200:
                        seen.failures.append((time.perf_counter(), f"{answer.status}: {told}"[:200]))
                    else:
                        seen.answers.append((time.perf_counter(), told["model_version"], 1000 * (time.perf_counter() - sent)))
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                seen.failures.append((time.perf_counter(), repr(error)[:200]))

        begun, number = time.perf_counter(), 0
        while not stop.is_set():
            await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
            task = asyncio.create_task(one(number))
            running.add(task)
            task.add_done_callback(running.discard)
            number += 1
        if running:
            await asyncio.wait(running, timeout=60)


async def measure(
    api_url: str, rate: float, steady_s: float, moves: Sequence[tuple[str, str, Callable[[], Any]]]
) -> dict[str, Any]:
    """Each move (name, version that must answer, call) under load, with a steady time before and after it."""
    seen, stop, found = Seen(), asyncio.Event(), {}
    async with aiohttp.ClientSession() as session:
        await ready(session, api_url)
    load = asyncio.create_task(offer(api_url, rate, seen, stop))
    await asyncio.sleep(steady_s)
    for name, version, call in moves:
        begun = time.perf_counter()
        await asyncio.to_thread(call)
        returned = time.perf_counter()
        while (first := seen.first(version, begun)) is None and time.perf_counter() - begun < 60:
            await asyncio.sleep(0.02)
        found[name] = {
            "seconds_to_first_answer": round(first - begun, 3) if first else None,
            "seconds_of_the_call": round(returned - begun, 3),
        }
        await asyncio.sleep(steady_s)
    stop.set()
    await load
    latencies = [value for _, _, value in seen.answers]
    versions: dict[str, int] = {}
    for _, version, _ in seen.answers:
        versions[version] = versions.get(version, 0) + 1
    slowest = max((item["seconds_to_first_answer"] or 60.0) for item in found.values())
    return {
        "benchmark": "promotion",
        "rate": rate,
        "requests": len(seen.answers) + len(seen.failures),
        "failed": len(seen.failures),
        "failures": seen.failures[:5],
        "moves": found,
        "answers_by_version": versions,
        "latency_ms": {
            name: round(float(np.percentile(latencies, p)), 1) for name, p in (("p50", 50), ("p99", 99), ("max", 100))
        },
        "limit_s": LIMIT_S,
        "holds": slowest <= LIMIT_S and not seen.failures,
    }


@contextmanager
def model_server_of(options: argparse.Namespace, home: Path, core: int) -> Iterator[str]:
    """Address of a model server: a fake one in a process of its own, or vLLM."""
    if not options.vllm:
        command = [sys.executable, "-m", "benchmarks.serving", "--fake-server", "--model-ms", str(options.model_ms)]
        with started(command, core, {}) as fake:
            yield fake.told["url"]
        return
    from kickwheel.inference.base_model_adapter import ensure_base_model
    from kickwheel.inference.vllm_adapter import model_server
    from kickwheel.settings import get_settings

    settings = get_settings()
    base = ensure_base_model(settings.model.base, settings.home).path
    with model_server(settings.server, base_path=base, log=home / "vllm.log", enable_lora=True) as server:
        yield server.url


def registered(home: Path, vllm: bool) -> tuple[Any, list[str]]:
    """A mover of the example's domain under ``home`` with two untrained adapters in the registry; and their names.

    ``vllm``: of the shape of the base model; else of a tiny one, since the fake server reads no weights.
    """
    from kickwheel.domain import load_domain
    from kickwheel.inference.base_model_adapter import ensure_base_model
    from kickwheel.promotion.opening_adapter import ledger_path, open_mover
    from kickwheel.settings import get_settings
    from kickwheel.testing.instant_trainer import TINY, write_untrained_adapter
    from kickwheel.tracking.registry_adapter import AdapterRegistry
    from kickwheel.tracking.runs_adapter import RunRecorder
    from kickwheel.tracking.store_adapter import open_store
    from kickwheel.workspace import folder_ref
    from schemas.tuning import AdapterArtifact, LoraPlan

    settings = get_settings().model_copy(update={"home": home})
    domain = load_domain(DOMAIN)
    client, experiment = open_store(settings, domain.name)
    registry = AdapterRegistry(client, domain.name, ledger_path(home, domain.name))
    base, config = Path("fake"), dict(TINY)
    if vllm:
        base = ensure_base_model(settings.model.base, get_settings().home).path
        config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    run = RunRecorder(client, client.create_run(experiment).info.run_id)
    names = []
    for seed in (0, 1):
        name, plan = f"{domain.name}-lap-{seed + 1:04d}-tuned", LoraPlan(seed=seed)
        folder = home / "adapters-made-here" / name
        write_untrained_adapter(folder, config, plan)
        registry.register(
            AdapterArtifact(
                name=name,
                folder=folder_ref(folder),
                base_model=settings.model.base,
                base_path=str(base),
                train_sha256="0" * 64,
                plan=plan,
            ),
            run,
        )
        names.append(name)
    return open_mover(domain, settings, by="benchmark"), names


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second")
    parser.add_argument("--steady", type=float, default=5.0, help="seconds of load before, between and after the moves")
    parser.add_argument("--model-ms", type=float, default=20.0, help="time that the fake model server takes")
    parser.add_argument("--vllm", action="store_true", help="a real vLLM instead of the fake model server")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder)
        mover, names = registered(home, options.vllm)
        mover.promote("1", reasons=("the first",))
        url = stack.enter_context(model_server_of(options, home, cores[-1]))
        environment = {
            "KICKWHEEL_HOME": folder,
            "KICKWHEEL_SERVING__TOKENS": f"bench:understand+admin:{TOKEN}",
            "KICKWHEEL_SERVING__FALLBACK": "none",
        }
        command = [sys.executable, "-c", "from kickwheel.cli import main; main()", "serve", str(DOMAIN)]
        api = stack.enter_context(started([*command, "--model-url", url, "--port", "0", "--json"], cores[0], environment))
        moves = [
            ("promote", names[1], lambda: mover.promote("2", reasons=("benchmark",))),
            ("rollback", names[0], mover.rollback),
        ]
        result = asyncio.run(measure(api.told["address"], options.rate, options.steady, moves))
        ledger = [(line.kind, line.phase, line.from_version, line.to_version) for line in mover.ledger.lines()]
    result |= {"model_server": "vLLM" if options.vllm else "fake (kickwheel.testing.model_server)", "ledger": ledger}
    sys.stdout.write(json.dumps(result, indent=None if options.json else 1) + "\n")
    return result


if __name__ == "__main__":
    main()
