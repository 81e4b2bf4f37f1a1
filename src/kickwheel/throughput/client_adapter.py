"""The process that sends the load: ``python -m kickwheel.throughput.client_adapter``.

It has a process and, if wanted, a core of its own, so that nothing else that we do can make it late; it imports the standard
library only, so that it is there in a tenth of a second. One step a process: the plan comes in on standard input, the record
goes out on standard output. When standard input ends before the step does, so does it: whoever wanted the record is gone.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import ssl
import sys
import threading
import time
from itertools import pairwise
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from kickwheel.throughput.connection_adapter import Exchange, Pool
from kickwheel.throughput.reply_stream import read_reply

_LEAD_S = 0.05
"""From the end of the preparations to the step's zero."""

_TICK_S = 0.05
"""How often timeouts and the stop rule are looked at."""

_INSTANT_S = 1.0


class Step:
    """One load step while it runs; times are seconds since ``begin`` on the monotonic clock."""

    def __init__(self, header: dict[str, Any], bodies: list[bytes]):
        address = urlsplit(header["url"])
        host = address.hostname or "127.0.0.1"
        secure = address.scheme == "https"
        port = address.port or (443 if secure else 80)
        self._tls = ssl.create_default_context() if secure else None
        self._address = (host, port)
        self._limit_s = float(header["request_limit_s"])
        self._schedule: list[float] = header["schedule"]
        self._concurrency = int(header["concurrency"])
        stop = header.get("stop")
        self._stop: tuple[float, int] | None = (float(stop[0]), int(stop[1])) if stop else None
        self._wires = [_wire(address.path, f"{host}:{port}", header["headers"], n, body) for n, body in enumerate(bodies)]
        self.exchanges: list[Exchange] = []
        self._under_way: dict[int, Exchange] = {}
        self._over = 0
        self._ended = 0
        self.max_in_flight = 0
        self.stopped_early = ""
        self.timeline: list[tuple[float, int, int, int]] = []
        self.begin = 0.0
        self.cpu = 0.0

    async def run(self) -> None:
        """Send everything that is due, wait for what is under way, for the time limit at most."""
        loop = asyncio.get_running_loop()
        self._loop = loop
        self.begin = loop.time() + _LEAD_S
        self._pool = Pool(*self._address, self._tls, self._now)
        self._everything = loop.create_future()
        cpu, wall = time.process_time(), loop.time()
        tick = loop.create_task(self._watch())
        try:
            if self._schedule:
                self._next = 0
                loop.call_at(self.begin + self._schedule[0], self._send_due)
            else:
                await asyncio.sleep(_LEAD_S)
                for number in range(min(self._concurrency, len(self._wires))):
                    self._send(number, self._now())
            await self._everything
        finally:
            tick.cancel()
            self._pool.close()
        self._remember(self._now())
        self.cpu = (time.process_time() - cpu) / max(1e-9, loop.time() - wall)

    def _now(self) -> float:
        return self._loop.time() - self.begin

    def _send_due(self) -> None:
        """Everything that is due by now; then sleep until the next."""
        schedule, wires = self._schedule, self._wires
        while self._next < len(wires) and not self.stopped_early:
            due = schedule[self._next]
            if due > self._now():
                self._loop.call_at(self.begin + due, self._send_due)
                return
            self._next += 1
            self._send(self._next - 1, due)

    def _send(self, number: int, scheduled: float) -> None:
        exchange = Exchange(number, self._wires[number], scheduled, self._finished)
        self.exchanges.append(exchange)
        self._under_way[number] = exchange
        self.max_in_flight = max(self.max_in_flight, len(self._under_way))
        self._pool.send(exchange)

    def _finished(self, exchange: Exchange) -> None:
        self._under_way.pop(exchange.index, None)
        self._ended += 1
        reply = exchange.reply
        if exchange.error is None and reply.status != 200:
            exchange.error = f"http_{reply.status}"
        if self._stop and (exchange.error is not None or exchange.ended - exchange.scheduled > self._stop[0]):
            self._over += 1
        if self._concurrency and len(self.exchanges) < len(self._wires) and not self.stopped_early:
            self._send(len(self.exchanges), self._now())
        elif len(self.exchanges) == len(self._wires) or self.stopped_early:
            self._end_if_done()

    def _end_if_done(self) -> None:
        if not self._under_way and not self._everything.done():
            self._everything.set_result(None)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            now = self._now()
            if now >= len(self.timeline) * _INSTANT_S:
                self._remember(now)
            for exchange in list(self._under_way.values()):  # in the order of sending, so of their time limits
                if now - exchange.sent < self._limit_s:
                    break
                self._give_up(exchange, "timeout", now)
            if self._stop and not self.stopped_early:
                limit_s, allowed = self._stop
                late = sum(now - exchange.scheduled > limit_s for exchange in self._under_way.values())
                if self._over + late > allowed:
                    self.stopped_early = (
                        f"{self._over + late} requests failed or took longer than {limit_s:g} s, {allowed} were allowed"
                    )
                    for exchange in list(self._under_way.values()):
                        self._give_up(exchange, "abandoned", now)
                    self._end_if_done()

    def _give_up(self, exchange: Exchange, error: str, now: float) -> None:
        if exchange.connection is not None:
            exchange.connection.close()
            exchange.connection = None
        exchange.ended, exchange.error = now, error
        self._finished(exchange)

    def _remember(self, now: float) -> None:
        self.timeline.append((now, len(self.exchanges), self._ended, len(self._under_way)))

    def record(self) -> dict[str, Any]:
        """What became of every request, decoded now that nothing is in a hurry."""
        return {
            "begin": self.begin,
            "max_in_flight": self.max_in_flight,
            "stopped_early": self.stopped_early,
            "cpu": self.cpu,
            "timeline": self.timeline,
            "samples": [_sample(exchange) for exchange in self.exchanges],
        }


def _sample(exchange: Exchange) -> list[Any]:
    error, text, reason, prompt, tokens = exchange.error, "", "", 0, 0
    times: list[float] = []
    if exchange.reply.status == 200:
        reply = read_reply(exchange.reply.pieces)
        error = error or reply.error
        times = reply.token_times
        if error is None:
            text, reason, prompt, tokens = reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens
    gaps = [round(after - before, 6) for before, after in pairwise(times)]
    first, last = (times[0], times[-1]) if times else (None, None)
    return [exchange.scheduled, exchange.sent, exchange.ended, first, last, tokens, prompt, error, text, reason, gaps]


def _wire(path: str, host: str, headers: dict[str, str], number: int, body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines.append(f"X-Request-Id: {number}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def _read_exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("the plan is not whole")
    return data


def _end_with_parent(stream: BinaryIO) -> None:
    """Nobody is there any more who could want the record."""
    stream.read(1)
    os._exit(3)


def main() -> None:
    """Read a plan, carry it out, write the record."""
    stdin = sys.stdin.buffer
    header = json.loads(_read_exactly(stdin, int(_read_exactly(stdin, 10))))
    bodies = [_read_exactly(stdin, size) for size in header["sizes"]]
    threading.Thread(target=_end_with_parent, args=(stdin,), daemon=True).start()
    if header["cores"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, header["cores"])
    step = Step(header, bodies)
    gc.collect()
    gc.freeze()
    gc.disable()  # a collection among some hundred thousand objects takes longer than a request may be late
    asyncio.run(step.run())
    sys.stdout.buffer.write(json.dumps(step.record(), ensure_ascii=False).encode())
    sys.stdout.buffer.flush()
    os._exit(0)  # the thread still waits on standard input


if __name__ == "__main__":
    main()
