"""How soon feedback is a signal, and whether it survives: ``python -m benchmarks.feedback [--kills 20] [--seconds 15]``.

A real server process with the routes for feedback, on one core, on a store of its own; the load comes from another core, at set
times whatever the server does. Prints one JSON object:

- ``batches``, ``singles``: 500 events/s in batches of 50, then 100 single posts/s. ``p50_ms``, ``p99_ms``, ``max_ms``: from the
  time a post was due until ``GET /v1/signals`` has shown the signal of its (last) event; asked after every post. ``ack_*``:
  until the post was acknowledged, which is when it is durable. ``server_cpu_share``: of its core, both kinds of requests.
- ``kills``: the server is killed with SIGKILL at random moments under load, started again, and what was not acknowledged is
  sent again, with some of what was. ``lost``: acknowledged events that the store does not have. ``counted_twice``: events, or
  signals, beyond the different ones that were sent.

``--url`` measures another store (it must be empty); without it, SQLite in a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil

from kickwheel.feedback.evidence import feedback_signals
from kickwheel.feedback.ports import Submission
from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.settings import DistillationSettings
from schemas.events import InferenceRecord
from schemas.frame import Frame

FRAME = Frame(intent="sync_orders")


class Server:
    """The server process and the address it listens on."""

    def __init__(self, url: str, core: int):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "benchmarks.feedback_server", "--url", url, "--port", str(port), "--core", str(core)]
        self.process = subprocess.Popen(command)

    async def ready(self, session: aiohttp.ClientSession) -> None:
        for _ in range(1200):
            assert self.process.poll() is None, "the server ended"
            try:
                async with session.get(f"{self.base}/v1/signals", params={"inference_id": "none"}) as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
        raise AssertionError("the server did not come up")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def dwell(name: str, about: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {"kind": "dwell", "event_id": name, "inference_id": about, "seconds": 9.0, "at": now}


def add_inferences(url: str, names: list[str]) -> None:
    store = SqlEventStore(url)
    now = datetime.now(UTC)
    for start in range(0, len(names), 1000):
        records = tuple(
            InferenceRecord(inference_id=name, user=f"u-{name}", text=f"text {name}", frame=FRAME, model_version="m", at=now)
            for name in names[start : start + 1000]
        )
        store.add([Submission(records)])
    store.close()


async def measure(server: Server, posts: list[list[dict[str, Any]]], per_second: float) -> dict[str, Any]:
    """Send each post when it is due, then ask for the signal of its last event."""
    process = psutil.Process(server.process.pid)
    before, began = sum(process.cpu_times()[:2]), time.perf_counter()
    acked: list[float] = []
    seen: list[float] = []
    failed = 0
    async with aiohttp.ClientSession() as session:
        start = time.perf_counter() + 0.5

        async def one(index: int, events: list[dict[str, Any]]) -> None:
            nonlocal failed
            due = start + index / per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            body = events[0] if len(events) == 1 else {"events": events}
            async with session.post(f"{server.base}/v1/feedback", json=body) as answer:
                if answer.status != 200 or (await answer.json())["added"] != len(events):
                    failed += 1
                    return
            acked.append(time.perf_counter() - due)
            async with session.get(f"{server.base}/v1/signals", params={"inference_id": events[-1]["inference_id"]}) as answer:
                cases = (await answer.json())["cases"]
            if not cases or not cases[0]["signals"]:
                failed += 1
                return
            seen.append(time.perf_counter() - due)

        await asyncio.gather(*(one(index, events) for index, events in enumerate(posts)))
    return {
        "posts": len(posts),
        "events": sum(map(len, posts)),
        "events_per_s": round(len(posts[0]) * per_second),
        "failed": failed,
        "server_cpu_share": round((sum(process.cpu_times()[:2]) - before) / (time.perf_counter() - began), 2),
        **{f"p{q}_ms": round(1000 * float(np.percentile(seen, q)), 1) for q in (50, 99)},
        "max_ms": round(1000 * max(seen), 1),
        **{f"ack_p{q}_ms": round(1000 * float(np.percentile(acked, q)), 1) for q in (50, 99)},
    }


class Load:
    """Clients that post what nobody has posted before, and again what was not acknowledged."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.sent: set[str] = set()
        self.acknowledged: set[str] = set()
        self.pending: list[list[dict[str, Any]]] = []
        self.resend: list[list[dict[str, Any]]] = []
        self.running = False

    def next_post(self) -> list[dict[str, Any]]:
        if self.resend:
            return self.resend.pop()
        first, size = len(self.sent), self.rng.choice((1, 1, 1, 50))
        events = [dwell(f"k-{number}", f"ki-{number}") for number in range(first, first + size)]
        self.sent.update(event["event_id"] for event in events)
        return events

    async def work(self, session: aiohttp.ClientSession, base: str) -> None:
        while self.running:
            events = self.next_post()
            body = events[0] if len(events) == 1 else {"events": events}
            try:
                async with session.post(f"{base}/v1/feedback", json=body) as answer:
                    assert answer.status == 200, answer.status
                    await answer.read()
            except aiohttp.ClientError:
                self.pending.append(events)
                continue
            self.acknowledged.update(event["event_id"] for event in events)
            if self.rng.random() < 0.02:
                self.pending.append(events)  # acknowledged, and sent again all the same

    async def until_killed(self, server: Server, seconds: float) -> None:
        async with aiohttp.ClientSession() as session:
            await server.ready(session)
            self.resend, self.pending, self.running = self.pending, [], True
            workers = [asyncio.create_task(self.work(session, server.base)) for _ in range(8)]
            await asyncio.sleep(seconds)
            server.kill()
            self.running = False
            await asyncio.gather(*workers)
            self.pending += self.resend


async def kill_suite(url: str, kills: int, seed: int) -> dict[str, Any]:
    """Kill under load, again and again; compare what was acknowledged with what is there."""
    load = Load(seed)
    moments = [round(load.rng.uniform(0.2, 1.5), 2) for _ in range(kills)]
    for moment in moments:
        await load.until_killed(Server(url, -1), moment)
    sent, acknowledged = load.sent, load.acknowledged
    store = SqlEventStore(url)
    there = [item.event_id for item in list(store.everything()) if not isinstance(item, InferenceRecord)]
    lost = acknowledged - set(there)
    server = Server(url, -1)
    async with aiohttp.ClientSession() as session:
        await server.ready(session)
        for events in load.pending:
            async with session.post(f"{server.base}/v1/feedback", json={"events": events}) as answer:
                assert answer.status == 200
    server.stop()
    store.close()
    add_inferences(url, [name.replace("k-", "ki-") for name in sorted(sent)])
    store = SqlEventStore(url)
    signals = feedback_signals(store, DistillationSettings(), now=datetime.now(UTC))
    events = sum(not isinstance(item, InferenceRecord) and item.event_id in sent for item in list(store.everything()))
    ours = sum(len(case.signals) for case in signals.cases if case.text.startswith("text ki-"))
    store.close()
    return {
        "kills": kills,
        "moments_s": moments,
        "sent": len(sent),
        "acknowledged": len(acknowledged),
        "lost": len(lost),
        "counted_twice": max(events - len(sent), 0) + max(ours - len(sent), 0),
        "missing_after_resend": len(sent) - events,
        "late_joined_signals": ours,
    }


async def run(options: argparse.Namespace, url: str) -> dict[str, Any]:
    result: dict[str, Any] = {"store": url.split(":")[0], "cores": os.cpu_count()}
    if options.seconds:
        os.sched_setaffinity(0, {1} if (os.cpu_count() or 1) > 1 else {0})
        batches, singles = int(10 * options.seconds), int(100 * options.seconds)
        add_inferences(url, [f"b-{i}" for i in range(50 * batches)] + [f"s-{i}" for i in range(singles)])
        server = Server(url, 0)
        async with aiohttp.ClientSession() as session:
            await server.ready(session)
        await measure(server, [[dwell(f"w-{i}", f"s-{i}")] for i in range(20)], 20)
        posts = [[dwell(f"b-{50 * post + i}", f"b-{50 * post + i}") for i in range(50)] for post in range(batches)]
        result["batches"] = await measure(server, posts, 10)
        result["singles"] = await measure(server, [[dwell(f"s-{i}", f"s-{i}")] for i in range(singles)], 100)
        server.stop()
    if options.kills:
        os.sched_setaffinity(0, set(range(os.cpu_count() or 1)))
        result["kills"] = await kill_suite(url, options.kills, options.seed)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each load; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", default="")
    parser.add_argument("--json", action="store_true", help="the default, and all there is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kickwheel-feedback-") as folder:
        url = options.url or f"sqlite:///{Path(folder) / 'events.sqlite3'}"
        print(json.dumps(asyncio.run(run(options, url)), indent=1))


if __name__ == "__main__":
    main()
