"""The load generator as the rest of the program sees it: starts a client process a step, reads what it recorded."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import httpx2

from kickwheel.errors import StageFailed
from kickwheel.inference.openai_adapter import is_local
from kickwheel.throughput.ports import Instant, LoadPlan, Sample, StepRecord
from kickwheel.throughput.server_metrics import RUNNING, WAITING, parse_metrics

_GRACE_S = 60.0
"""Beyond schedule and time limit: start, decoding, a machine that is busy. A client that is not done then is ended."""


class ProcessGenerator:
    """A :class:`~kickwheel.throughput.ports.LoadGenerator` over HTTP, each step in a process of its own.

    Args:
        base_url: including ``/v1``. It is reached directly, never through a proxy: the proxy's latency would be measured too.
        request_limit_s: a request that is not done this long after it was sent is a ``timeout``.
        drain_limit_s: longest wait for the server to become idle between steps.
        cores: CPU cores that the client process may use; empty: all.
        api_key: sent as a bearer token; empty: none.
    """

    def __init__(
        self,
        base_url: str,
        *,
        request_limit_s: float = 30.0,
        drain_limit_s: float = 10.0,
        cores: Sequence[int] = (),
        api_key: str = "",
    ):
        self._base_url = base_url.rstrip("/")
        self._root = self._base_url.removesuffix("/v1")
        self._limit_s = request_limit_s
        self._drain_limit_s = drain_limit_s
        self._cores = list(cores)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._trust_env = not is_local(base_url)

    def run(self, plan: LoadPlan) -> StepRecord:
        """Send every request when it is due, whatever became of the earlier ones.

        Open loop: ends ``request_limit_s`` after the last one at the latest. Whatever ends this process ends the client.

        Raises:
            StageFailed: the client process did not give a record.
        """
        header = {
            "url": f"{self._base_url}/chat/completions",
            "headers": self._headers,
            "request_limit_s": self._limit_s,
            "schedule": plan.schedule,
            "concurrency": plan.concurrency,
            "stop": (plan.stop.limit_s, plan.stop.allowed) if plan.stop else None,
            "cores": self._cores,
            "sizes": [len(body) for body in plan.bodies],
        }
        longest = (plan.schedule[-1] if plan.schedule else self._limit_s * len(plan.bodies) / plan.concurrency) + self._limit_s
        return _record(_carry_out(json.dumps(header).encode(), plan.bodies, longest + _GRACE_S))

    def drain(self) -> None:
        """Wait until the server says that it has no request left (vLLM's ``/metrics``), for ``drain_limit_s`` at most."""
        wait = threading.Event()
        for _ in range(max(1, round(self._drain_limit_s / 0.2))):
            page = self._get("/metrics")
            values = parse_metrics(page) if page is not None else {}
            if not values.get(RUNNING, 0.0) and not values.get(WAITING, 0.0):
                return
            wait.wait(0.2)

    def is_alive(self) -> bool:
        """Whether the server's ``/health`` answers."""
        return self._get("/health") is not None

    def _get(self, path: str) -> str | None:
        """Body of a page of the server; None where it is not there."""
        try:
            answer = httpx2.get(f"{self._root}{path}", headers=self._headers, timeout=5.0, trust_env=self._trust_env)
        except httpx2.HTTPError:
            return None
        return answer.text if answer.status_code == 200 else None


def _carry_out(header: bytes, bodies: Sequence[bytes], limit_s: float) -> bytes:
    """The client's record, as JSON. It is ended with this call, whatever happens."""
    source = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH", "")) if part)
    client = subprocess.Popen(
        [sys.executable, "-m", "kickwheel.throughput.client_adapter"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert client.stdin is not None and client.stdout is not None and client.stderr is not None  # noqa: S101, PT018
    timer = threading.Timer(limit_s, client.kill)
    timer.daemon = True
    timer.start()
    try:
        with contextlib.suppress(BrokenPipeError):
            client.stdin.write(b"%010d" % len(header) + header + b"".join(bodies))
            client.stdin.flush()
        record = client.stdout.read()  # standard input stays open meanwhile: its end is the client's end
        said = client.stderr.read().decode(errors="replace").strip()
    finally:
        timer.cancel()
        client.kill()
        client.wait()
        for stream in (client.stdin, client.stdout, client.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    if not record:
        why = said[-2000:] or f"it was not done after {limit_s:.0f} s"
        raise StageFailed(f"the load generator's process ended without a record: {why}")
    return record


def _record(data: bytes) -> StepRecord:
    record = json.loads(data)
    samples = sorted(record["samples"], key=lambda sample: sample[0])
    return StepRecord(
        samples=tuple(_sample(*sample) for sample in samples),
        max_in_flight=record["max_in_flight"],
        begin=record["begin"],
        stopped_early=record["stopped_early"],
        cpu=record["cpu"],
        timeline=tuple(Instant(*instant) for instant in record["timeline"]),
    )


def _sample(
    scheduled: float,
    sent: float,
    ended: float,
    first: float | None,
    last: float | None,
    tokens: int,
    prompt_tokens: int,
    error: str | None,
    text: str,
    reason: str,
    gaps: list[float],
) -> Sample:
    return Sample(
        scheduled=scheduled,
        sent=sent,
        finished=ended,
        first_token=first,
        completion_tokens=tokens,
        error=error,
        last_token=last,
        gaps=tuple(gaps),
        prompt_tokens=prompt_tokens,
        text=text,
        finish_reason=reason,
    )
