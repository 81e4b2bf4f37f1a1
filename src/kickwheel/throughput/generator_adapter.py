"""Open-loop load over streaming chat completions.

aiohttp and not the ``openai`` client: the generator shares two cores with the server that it measures, and the client
builds a checked object of every token's event. Here an event costs a look at its bytes; only the event with the first
text and the last one, with the server's own token count, are parsed.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from kickwheel.inference.openai_adapter import is_local
from kickwheel.inference.student_prompt import as_openai, student_messages
from kickwheel.throughput.ports import Sample, StepRecord

_LEAD_S = 0.05
"""From now to the step's begin: time to have everything ready."""


class OpenLoopGenerator:
    """A :class:`~kickwheel.throughput.ports.LoadGenerator` over HTTP, with the student's own prompt.

    Args:
        base_url: including ``/v1``.
        output_tokens: what every reply is made to have (vLLM's ``ignore_eos``), so that both arms do the same work.
            0: replies end where they end, at ``max_tokens`` at the latest.
        request_limit_s: a request that is not done this long after it was sent is a ``timeout``.
        drain_limit_s: longest wait for the server to become idle between steps.
    """

    def __init__(
        self,
        base_url: str,
        *,
        output_tokens: int = 0,
        max_tokens: int = 64,
        request_limit_s: float = 30.0,
        drain_limit_s: float = 10.0,
    ):
        self._base_url = base_url.rstrip("/")
        self._root = self._base_url.removesuffix("/v1")
        self._through_proxy = not is_local(base_url)
        self._fixed = output_tokens
        self._max_tokens = output_tokens or max_tokens
        self._limit_s = request_limit_s
        self._drain_limit_s = drain_limit_s

    def run(self, model: str, texts: Sequence[str], schedule: Sequence[float]) -> StepRecord:
        """Send ``texts[i]`` at ``schedule[i]`` seconds; returns ``request_limit_s`` after the last one at the latest."""
        bodies = [self._body(model, text) for text in texts]
        return asyncio.run(self._run(bodies, schedule))

    def drain(self) -> None:
        """Wait until the server says that it has no request left (vLLM's ``/metrics``), for ``drain_limit_s`` at most."""
        asyncio.run(self._drain())

    def is_alive(self) -> bool:
        """Whether the server's ``/health`` answers."""
        return asyncio.run(self._get("/health")) is not None

    def _body(self, model: str, text: str) -> bytes:
        fields: dict[str, Any] = {
            "model": model,
            "messages": as_openai(student_messages(text)),
            "max_tokens": self._max_tokens,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._fixed:
            fields["ignore_eos"] = True
        return json.dumps(fields, ensure_ascii=False).encode()

    async def _run(self, bodies: Sequence[bytes], schedule: Sequence[float]) -> StepRecord:
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        headers = {"Content-Type": "application/json"}
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, headers=headers, trust_env=self._through_proxy
        ) as session:
            step = _Step(session, f"{self._base_url}/chat/completions", self._limit_s, time.monotonic() + _LEAD_S)
            tasks: list[asyncio.Task[Sample]] = []
            for body, scheduled in zip(bodies, schedule, strict=True):
                await asyncio.sleep(max(0.0, scheduled - step.now()))
                tasks.append(asyncio.create_task(step.send(body, scheduled)))
            samples = await asyncio.gather(*tasks)
        return StepRecord(tuple(samples), step.max_in_flight)

    async def _drain(self) -> None:
        deadline = time.monotonic() + self._drain_limit_s
        while time.monotonic() < deadline:
            metrics = await self._get("/metrics")
            if metrics is None or not _requests_left(metrics):
                return
            await asyncio.sleep(0.2)

    async def _get(self, path: str) -> str | None:
        """Body of a page of the server; None where it is not there."""
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5), trust_env=self._through_proxy) as session,
                session.get(f"{self._root}{path}") as answer,
            ):
                return await answer.text() if answer.status == 200 else None
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None


@dataclass
class _Step:
    """One step while it runs. ``begin`` is the time of its zero, on the monotonic clock."""

    session: aiohttp.ClientSession
    url: str
    limit_s: float
    begin: float
    in_flight: int = 0
    max_in_flight: int = 0

    def now(self) -> float:
        return time.monotonic() - self.begin

    async def send(self, body: bytes, scheduled: float) -> Sample:
        sent = self.now()
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        stream = _Stream()
        error: str | None
        try:
            async with asyncio.timeout(self.limit_s), self.session.post(self.url, data=body) as answer:
                if answer.status == 200:
                    async for line in answer.content:
                        stream.take(line, self.now)
                    error = stream.error()
                else:
                    error = f"http_{answer.status}"
        except TimeoutError:
            error = "timeout"
        except aiohttp.ClientPayloadError:
            error = "incomplete"
        except (aiohttp.ClientError, OSError):
            error = "connection"
        except ValueError:  # an event that is no JSON
            error = "stream_error"
        finally:
            self.in_flight -= 1
        tokens = 0 if error else stream.completion_tokens()
        return Sample(scheduled, sent, self.now(), stream.first_token, tokens, error)


@dataclass
class _Stream:
    """The server-sent events of one reply."""

    first_token: float | None = None
    last: bytes = b""
    done: bool = False
    failed: bool = False

    def take(self, line: bytes, now: Callable[[], float]) -> None:
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.done = True
            return
        self.last = data
        if data.startswith(b'{"error"'):
            self.failed = True
        elif self.first_token is None and _has_text(data):
            self.first_token = now()

    def error(self) -> str | None:
        if self.failed:
            return "stream_error"
        return None if self.done else "incomplete"

    def completion_tokens(self) -> int:
        """The server's own count, from the last event."""
        usage = json.loads(self.last).get("usage") if self.last else None
        return int(usage["completion_tokens"]) if usage else 0


def _has_text(data: bytes) -> bool:
    choices = json.loads(data).get("choices") or []
    return any(choice.get("delta", {}).get("content") for choice in choices)


def _requests_left(metrics: str) -> bool:
    gauges = ("vllm:num_requests_running", "vllm:num_requests_waiting")
    lines = (
        line for line in metrics.splitlines() if line.startswith(gauges) and not line.startswith("vllm:num_requests_waiting_")
    )
    return any(float(line.rsplit(" ", 1)[1]) > 0 for line in lines)
