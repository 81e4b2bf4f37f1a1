"""How well load generators keep a schedule: ``python -m benchmarks.generator --json``.

Ours, locust (HttpUser and FastHttpUser) and guidellm, one after the other, offer the same rate to the same instant server
(:mod:`kickwheel.testing.fast_server`, 8 pieces a streamed reply), which is pinned to one core, as each generator is to another.
The tools are in an environment of their own, since they are no dependencies of ours::

    python3 -m venv /tmp/load-tools && /tmp/load-tools/bin/pip install locust guidellm
    python -m benchmarks.generator --tools /tmp/load-tools --json

The server is the referee: ``late_p99_ms`` is how much later than an even schedule its record says that requests came, the same
way for all; a tool that can't keep up is later with each request. Our own figure, ``send_delay_p99_ms``, is printed beside it.
A tool that can't be run is "not measured", with its last words.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kickwheel.testing.fast_server import Behaviour, Seen
from kickwheel.testing.fast_server_process import FastServer
from kickwheel.throughput.cores_adapter import only_on, own_cores
from kickwheel.throughput.generator_adapter import ProcessGenerator
from kickwheel.throughput.ports import LoadPlan
from kickwheel.throughput.request_body import request_body
from kickwheel.throughput.schedule import constant_schedule
from kickwheel.throughput.statistics import percentile

USERS = 100
START_S = 60
WARM_S = 2.0
"""Seconds at the begin that are not judged: users are started, connections opened."""

LOCUST = """
import json, os
from locust import FastHttpUser, HttpUser, constant_throughput, task

BODY = open(os.environ["LOAD_BODY"], "rb").read()
HEADERS = {"Content-Type": "application/json"}
RATE = float(os.environ["LOAD_RATE"]) / float(os.environ["LOAD_USERS"])


class Slow(HttpUser):
    wait_time = constant_throughput(RATE)

    @task
    def ask(self):
        with self.client.post("/v1/chat/completions", data=BODY, headers=HEADERS, stream=True) as reply:
            for _ in reply.iter_lines():
                pass


class Fast(FastHttpUser):
    wait_time = constant_throughput(RATE)

    @task
    def ask(self):
        self.client.post("/v1/chat/completions", data=BODY, headers=HEADERS)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=1000.0, help="offered requests a second")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tools", type=Path, help="environment with locust and guidellm")
    parser.add_argument("--only", default="", help="comma-separated: ours, locust-http, locust-fast, guidellm")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    cores = own_cores()
    server_core, ours = (cores[0], cores[-1:]) if len(cores) > 1 else (None, ())
    behaviour = Behaviour(core=server_core)
    runs: dict[str, Callable[[FastServer], dict[str, Any]]] = {
        "ours": lambda server: run_ours(server, options.rate, options.seconds, ours),
        "locust-http": lambda server: run_locust(server, "Slow", options, ours),
        "locust-fast": lambda server: run_locust(server, "Fast", options, ours),
        "guidellm": lambda server: run_guidellm(server, options, ours),
    }
    wanted = [name for name in options.only.split(",") if name] or list(runs)
    found: dict[str, Any] = {}
    for name in wanted:
        with FastServer(replace(behaviour)) as server:
            try:
                found[name] = runs[name](server) | referee(server.record(), options.rate, options.seconds)
            except NotMeasured as why:
                found[name] = {"not_measured": str(why)}
        if not options.json:
            print(name, found[name])
    if options.json:
        said = {"offered_rate": options.rate, "seconds": options.seconds, "pieces": behaviour.chunks, "cores": list(cores)}
        print(json.dumps({**said, "server_core": server_core, "generator_cores": list(ours), "generators": found}, indent=1))


class NotMeasured(Exception):
    """A tool that could not be run, and why."""


def referee(seen: list[Seen], rate: float, seconds: float) -> dict[str, Any]:
    """What the server saw after the warm-up: request k was due k / rate after the first of them."""
    wanted = round(rate * seconds)
    everything = sorted(item.received for item in seen)
    came = [at for at in everything if at >= everything[0] + WARM_S][:wanted]
    if not came:
        raise NotMeasured("not one request came")
    late = [max(0.0, at - came[0] - number / rate) for number, at in enumerate(came)]
    span = came[-1] - came[0]
    return {
        "requests": len(seen),
        "answered": sum(item.status == 200 for item in seen),
        "achieved_rate": round((len(came) - 1) / span, 1) if span > 0 else None,
        "late_p50_ms": round(1000 * (percentile(late, 0.5) or 0.0), 2),
        "late_p99_ms": round(1000 * (percentile(late, 0.99) or 0.0), 2),
    }


def run_ours(server: FastServer, rate: float, seconds: float, cores: tuple[int, ...]) -> dict[str, Any]:
    """Our generator, as the load tests use it."""
    schedule = constant_schedule(rate, seconds + WARM_S)
    bodies = tuple(request_body("base", f"utterance {number}", max_tokens=64) for number in range(len(schedule)))
    record = ProcessGenerator(server.url, cores=cores).run(LoadPlan(bodies, schedule))
    delays = [sample.sent - sample.scheduled for sample in record.samples]
    return {
        "send_delay_p50_ms": round(1000 * (percentile(delays, 0.5) or 0.0), 2),
        "send_delay_p99_ms": round(1000 * (percentile(delays, 0.99) or 0.0), 2),
        "errors": sum(sample.error is not None for sample in record.samples),
        "client_cpu": round(record.cpu or 0.0, 2),
    }


def run_locust(server: FastServer, user: str, options: argparse.Namespace, cores: tuple[int, ...]) -> dict[str, Any]:
    """100 users that together ask for the rate. Closed loop: a user who waits for a reply sends nothing meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "locustfile.py").write_text(LOCUST, encoding="utf-8")
        (Path(folder) / "body.json").write_bytes(request_body("base", "utterance", max_tokens=64))
        more = {"LOAD_BODY": f"{folder}/body.json", "LOAD_RATE": str(options.rate), "LOAD_USERS": str(USERS)}
        seconds = options.seconds + 2 * WARM_S
        command = [
            *(tool(options, "locust"), "--headless", "--only-summary", "-f", "locustfile.py", user),
            *("-u", str(USERS), "-r", str(USERS), "-t", f"{seconds:g}s", "--host", server.url.removesuffix("/v1")),
        ]
        called(command, options, cores, folder, more)
    return {"users": USERS, "loop": "closed"}


def run_guidellm(server: FastServer, options: argparse.Namespace, cores: tuple[int, ...]) -> dict[str, Any]:
    """Its constant profile, open loop; all its worker processes share the one core."""
    with tempfile.TemporaryDirectory() as folder:
        rows = "".join(json.dumps({"prompt": f"utterance {number}", "output_tokens_count": 8}) + "\n" for number in range(512))
        (Path(folder) / "rows.jsonl").write_text(rows, encoding="utf-8")
        command = [
            *(tool(options, "guidellm"), "run", "--disable-console"),
            *("--backend", f"kind=openai_http,target={server.url.removesuffix('/v1')},model=base"),
            *("--profile", f"kind=constant,rate={options.rate:g}"),
            *("--constraint", f"kind=max_duration,seconds={options.seconds + WARM_S:g}"),
            *("--data", f"kind=json_file,path={folder}/rows.jsonl"),
            *("--output", f"kind=json,path={folder}/report.json"),
        ]
        called(command, options, cores, folder, {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"})
    return {"loop": "open"}


def tool(options: argparse.Namespace, name: str) -> str:
    """The tool's command."""
    if options.tools is None:
        raise NotMeasured("no --tools environment was named")
    path = options.tools.resolve() / "bin" / name
    if not path.is_file():
        raise NotMeasured(f"{name} is not installed in the --tools environment")
    return str(path)


def called(command: list[str], options: argparse.Namespace, cores: tuple[int, ...], folder: str, more: dict[str, str]) -> None:
    """Run a tool on the generator's cores."""
    environment = {**os.environ, **more}
    environment.pop("PYTHONPATH", None)
    try:
        with only_on(cores):  # inherited
            limit_s = options.seconds + START_S
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=folder, env=environment, timeout=limit_s, check=False
            )
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"it was not done {START_S} s after its time") from None
    if done.returncode not in (0, 1):  # locust ends with 1 where a request failed
        raise NotMeasured(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
