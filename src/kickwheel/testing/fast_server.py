"""A model server that is nothing but latency: ``python -m kickwheel.testing.fast_server``.

It stands in for a server where the load generator, the search or a proxy in front of a model is the thing under test, never
where the model is. One process, one protocol on the bare transport: it answers thousands of streamed requests a second, and it
writes down when it saw and finished each. :class:`kickwheel.testing.fast_server_process.FastServer` starts one.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import json
import os
import random
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, cast

EMPTY_FRAME = '{"intent": "out_of_scope", "slots": {}}'


@dataclass(frozen=True)
class Behaviour:
    """What the server does. Times in seconds.

    Attributes:
        chunks: pieces in which a reply is streamed.
        ttft_s, token_s: to the first piece, and between two.
        sigma: each reply's times are scaled by a log-normal factor of median 1 and this sigma; 0: all alike.
        parallel: requests worked on at a time, the others wait in order; 0: all.
        stalls: (at, how long): the whole process stands still, as in a long collection or a swap; ``at`` counts from the first
            chat request.
        fail_every: every n-th chat request is answered with ``fail_status``; 0: none.
        break_every: every n-th reply breaks off in its middle.
        die_at: the process ends itself at this number of chat requests; 0: never.
        wrong_above: replies are wrong while more requests than this are worked on (a model that is hurried); 0: never.
        reply: what is answered; ``replies`` answers texts of its own.
        model, adapters: names that are served.
        core: CPU core that the process is pinned to; None: any.
        seed: of everything that is drawn.
    """

    chunks: int = 8
    ttft_s: float = 0.0
    token_s: float = 0.0
    sigma: float = 0.0
    parallel: int = 0
    stalls: tuple[tuple[float, float], ...] = ()
    fail_every: int = 0
    fail_status: int = 500
    break_every: int = 0
    die_at: int = 0
    wrong_above: int = 0
    reply: str = EMPTY_FRAME
    replies: dict[str, str] = field(default_factory=dict)
    model: str = "base"
    adapters: tuple[str, ...] = ()
    core: int | None = None
    port: int = 0
    seed: int = 0


@dataclass
class Seen:
    """One chat request as the server saw it; times are of ``time.monotonic``, 0: it did not come to that."""

    id: str
    received: float
    started: float = 0.0
    first_token: float = 0.0
    finished: float = 0.0
    status: int = 0


class Server:
    """State that all connections share."""

    def __init__(self, behaviour: Behaviour):
        self.behaviour = behaviour
        self.seen: list[Seen] = []
        self.running = 0
        self.waiting: deque[Answer] = deque()
        self.adapters = dict.fromkeys(behaviour.adapters, "")
        self.rng = random.Random(behaviour.seed)  # noqa: S311
        self.loop = asyncio.get_running_loop()
        self.sums = dict.fromkeys(("queue", "prefill", "decode"), 0.0)
        self.finished = 0
        self._due: list[tuple[float, int, Answer]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._number = 0
        self._pieces: dict[str, list[bytes]] = {}

    def at(self, when: float, answer: Answer) -> None:
        """Have ``answer.step`` called at a time. One timer for all: an asyncio timer each would cost more than the answer."""
        self._number += 1
        heapq.heappush(self._due, (when, self._number, answer))
        if self._due[0][1] == self._number:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_at(when, self._wake)

    def _wake(self) -> None:
        self._timer = None
        while self._due and self._due[0][0] <= self.loop.time():
            heapq.heappop(self._due)[2].step()
        if self._due and self._timer is None:
            self._timer = self.loop.call_at(self._due[0][0], self._wake)

    def chat(self, connection: Connection, request_id: str, body: dict[str, Any]) -> None:
        """Take a chat request."""
        behaviour = self.behaviour
        seen = Seen(request_id, time.monotonic())
        self.seen.append(seen)
        number = len(self.seen)
        if number == 1:
            for at, seconds in behaviour.stalls:
                self.loop.call_later(at, time.sleep, seconds)
        if behaviour.die_at and number >= behaviour.die_at:
            os._exit(9)
        if behaviour.fail_every and number % behaviour.fail_every == 0:
            self._refuse(connection, seen, behaviour.fail_status, "injected")
            return
        model = body.get("model")
        if model != behaviour.model and model not in self.adapters:
            self._refuse(connection, seen, 404, f"The model `{model}` does not exist.")
            return
        breaks = bool(behaviour.break_every) and number % behaviour.break_every == 0
        answer = Answer(self, connection, seen, body, breaks=breaks)
        if behaviour.parallel and self.running >= behaviour.parallel:
            self.waiting.append(answer)
        else:
            answer.begin()

    def pieces(self, reply: str) -> list[bytes]:
        """The events of a reply: as many as the behaviour says, the last ones blank where it is too short."""
        known = self._pieces.get(reply)
        if known is None:
            wanted = self.behaviour.chunks
            count = min(wanted, len(reply)) or 1
            cuts = [round(n * len(reply) / count) for n in range(count + 1)]
            parts = [reply[start:end] for start, end in pairwise(cuts)] + [" "] * (wanted - count)
            known = self._pieces[reply] = [_event({"delta": {"content": part}, "finish_reason": None}) for part in parts]
        return known

    def next_waiting(self) -> None:
        """A place is free."""
        while self.waiting and (not self.behaviour.parallel or self.running < self.behaviour.parallel):
            answer = self.waiting.popleft()
            if not answer.connection.transport.is_closing():
                answer.begin()

    def _refuse(self, connection: Connection, seen: Seen, status: int, message: str) -> None:
        seen.status, seen.finished = status, time.monotonic()
        connection.answer(status, json.dumps({"error": {"message": message, "code": status}}).encode())

    def page(self, path: str) -> tuple[int, bytes]:
        """What is not a chat request."""
        if path == "/health":
            return 200, b""
        if path == "/version":
            return 200, b'{"version": "fake"}'
        if path == "/record":
            return 200, json.dumps([asdict(seen) for seen in self.seen]).encode()
        if path == "/v1/models":
            cards = [{"id": self.behaviour.model, "parent": None}]
            cards += [{"id": name, "root": root, "parent": self.behaviour.model} for name, root in self.adapters.items()]
            return 200, json.dumps({"object": "list", "data": cards}).encode()
        if path == "/metrics":
            return 200, self._metrics().encode()
        return 404, b'{"detail": "Not Found"}'

    def adapter(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """Adapters come and go."""
        name = str(body["lora_name"])
        if path.endswith("/unload_lora_adapter"):
            return (200, b"removed") if self.adapters.pop(name, None) is not None else (404, b"cannot be found")
        self.adapters[name] = str(body["lora_path"])
        return 200, b"added"

    def _metrics(self) -> str:
        used = self.running / self.behaviour.parallel if self.behaviour.parallel else 0.0
        label = f'{{engine="0",model_name="{self.behaviour.model}"}}'
        lines = [
            f"vllm:num_requests_running{label} {float(self.running)}",
            f"vllm:num_requests_waiting{label} {float(len(self.waiting))}",
            f"vllm:kv_cache_usage_perc{label} {used}",
            f"vllm:num_preemptions_total{label} 0.0",
        ]
        for name, total in self.sums.items():
            lines.append(f"vllm:request_{name}_time_seconds_sum{label} {total}")
            lines.append(f"vllm:request_{name}_time_seconds_count{label} {float(self.finished)}")
        return "\n".join(lines) + "\n"


class Answer:
    """One reply on its way out."""

    __slots__ = ("_breaks", "_factor", "_next", "_number", "_pieces", "_stream", "_tail", "connection", "seen", "server")

    def __init__(self, server: Server, connection: Connection, seen: Seen, body: dict[str, Any], *, breaks: bool):
        behaviour = server.behaviour
        self.server, self.connection, self.seen, self._breaks = server, connection, seen, breaks
        self._stream = bool(body.get("stream"))
        self._factor = server.rng.lognormvariate(0.0, behaviour.sigma) if behaviour.sigma else 1.0
        self._number = 0
        self._next = 0.0
        texts = [_text(message["content"]) for message in body["messages"]]
        reply = behaviour.replies.get(texts[-1], behaviour.reply)
        if behaviour.wrong_above and server.running >= behaviour.wrong_above:
            reply = EMPTY_FRAME if reply != EMPTY_FRAME else "{}"
        prompt = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": prompt, "completion_tokens": behaviour.chunks, "total_tokens": prompt + behaviour.chunks}
        self._pieces = server.pieces(reply)
        if self._stream:
            end = _END
            if (body.get("stream_options") or {}).get("include_usage"):
                end += _chunk(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
            self._tail = end + _DONE
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
            whole = {"id": "fake", "object": "chat.completion", "created": 0, "model": body["model"]}
            self._tail = json.dumps({**whole, "choices": [choice], "usage": usage}, ensure_ascii=False).encode()

    def begin(self) -> None:
        """Work on it."""
        server = self.server
        server.running += 1
        self.seen.started = time.monotonic()
        if self._stream:
            self.connection.transport.write(_HEAD)
        self._next = server.loop.time()
        self._wait(server.behaviour.ttft_s)

    def step(self) -> None:
        """The next piece is due."""
        seen, transport = self.seen, self.connection.transport
        if transport.is_closing():
            self._end(499)
            return
        if self._breaks and self._number == len(self._pieces) // 2:
            transport.abort()
            self._end(0)
            return
        if self._number == 0:
            seen.first_token = time.monotonic()
        if self._stream:
            transport.write(self._pieces[self._number])
        self._number += 1
        if self._number < len(self._pieces):
            self._wait(self.server.behaviour.token_s)
            return
        if self._stream:
            transport.write(self._tail)
        else:
            self.connection.answer(200, self._tail)
        self._end(200)

    def _wait(self, seconds: float) -> None:
        if seconds <= 0:
            self.step()
            return
        self._next += seconds * self._factor  # from when it was due, not from now: a slow timer does not add up
        self.server.at(self._next, self)

    def _end(self, status: int) -> None:
        server, seen = self.server, self.seen
        seen.status, seen.finished = status, time.monotonic()
        server.running -= 1
        server.finished += 1
        server.sums["queue"] += seen.started - seen.received
        server.sums["prefill"] += (seen.first_token or seen.finished) - seen.started
        server.sums["decode"] += seen.finished - (seen.first_token or seen.finished)
        self.connection.free()
        server.next_waiting()


class Connection(asyncio.Protocol):
    """A keep-alive HTTP/1.1 connection; a second request waits until the first is answered."""

    def __init__(self, server: Server):
        self._server = server
        self._buffer = b""
        self._busy = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """A part of a request, or some."""
        self._buffer += data
        self._take()

    def answer(self, status: int, body: bytes) -> None:
        """Send a whole reply; the connection stays."""
        kind = b"text/plain" if body.startswith(b"vllm:") else b"application/json"
        head = b"HTTP/1.1 %d x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(body))
        self.transport.write(head + body)

    def free(self) -> None:
        """The chat request is answered."""
        self._busy = False
        if self._buffer:
            self._server.loop.call_soon(self._take)

    def _take(self) -> None:
        while not self._busy:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            length = int(headers.get("content-length", "0"))
            if len(self._buffer) < end + 4 + length:
                return
            raw = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            path = first.split(" ")[1]
            if path == "/v1/chat/completions":
                self._busy = True
                before = len(self._server.seen)
                self._server.chat(self, headers.get("x-request-id", str(before)), json.loads(raw))
                if self._server.seen[before].status >= 400:
                    self._busy = False
            elif path.endswith("lora_adapter"):
                self.answer(*self._server.adapter(path, json.loads(raw)))
            else:
                self.answer(*self._server.page(path))


def _text(content: str | list[dict[str, Any]]) -> str:
    """A message's text, also where it comes in parts."""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def _event(choice: dict[str, Any]) -> bytes:
    data = {"id": "fake", "object": "chat.completion.chunk", "created": 0, "model": "base", "choices": [{"index": 0, **choice}]}
    return _chunk(b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


_END = _event({"delta": {}, "finish_reason": "stop"})
_DONE = _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


async def serve(behaviour: Behaviour) -> None:
    """Serve until standard input ends; the port is the first line on standard output."""
    loop = asyncio.get_running_loop()
    state = Server(behaviour)
    listener = await loop.create_server(lambda: Connection(state), "127.0.0.1", behaviour.port, backlog=4096)
    sys.stdout.write(f"{listener.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    gc.collect()
    gc.freeze()
    gc.disable()
    await loop.run_in_executor(None, sys.stdin.buffer.read)
    os._exit(0)


def main() -> None:
    """The behaviour is one line of JSON on standard input; without any field it is instant."""
    fields = json.loads(sys.stdin.buffer.readline() or b"{}")
    fields["stalls"] = tuple(tuple(stall) for stall in fields.get("stalls", ()))
    behaviour = Behaviour(**fields)
    if behaviour.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {behaviour.core})
    asyncio.run(serve(behaviour))


if __name__ == "__main__":
    main()
