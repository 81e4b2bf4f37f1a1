"""A fake vLLM: a real HTTP server with set latencies, scripted replies and failures, and a record of every request.

It stands in for vLLM where the thing under test is the client, the generator or a policy, never where the model is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

Messages = list[dict[str, str]]

EMPTY_FRAME = '{"intent": "out_of_scope", "slots": {}}'


@dataclass
class RecordedRequest:
    """One request as the server saw it. Times are of ``time.monotonic``; None: it did not come to that."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    received: float
    first_token: float | None = None
    finished: float | None = None


@dataclass(frozen=True)
class Failure:
    """What the server does instead of answering: a status, a hang, a broken connection, or a break in the middle of a reply."""

    status: int = 0
    retry_after: str | None = None
    body: dict[str, Any] | None = None
    hang: bool = False
    reset: bool = False
    break_off: bool = False


Answer = str | Failure


@dataclass
class FakeModelServer:
    """Use as a context manager; ``url`` ends in ``/v1``.

    Attributes:
        port: 0 for a free one.
        reply: the text that answers given messages and model, or the failure that does.
        ttft_s: seconds to the first token, or a function of the request's number (from 0).
        token_s: seconds between tokens.
        parallel: requests that are worked on at a time, the others wait; 0: all.
        lora: whether adapters may be loaded.
        failures: taken from the left, one a chat request; None entries answer normally.
        requests: everything that came, in order.
        adapters: served adapters, name to path.
    """

    base_name: str = "base"
    port: int = 0
    reply: Callable[[Messages, str], Answer] = lambda _messages, _model: EMPTY_FRAME
    ttft_s: float | Callable[[int], float] = 0.0
    token_s: float = 0.0
    parallel: int = 0
    lora: bool = True
    failures: deque[Failure | None] = field(default_factory=deque)
    requests: list[RecordedRequest] = field(default_factory=list)
    adapters: dict[str, str] = field(default_factory=dict)
    url: str = ""

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", self.port))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._server = uvicorn.Server(
            uvicorn.Config(self._app(), log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        )
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="fake-model-server", daemon=True)
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.die()

    @property
    def chats(self) -> list[RecordedRequest]:
        """The chat requests among all requests."""
        return [request for request in self.requests if request.path == "/v1/chat/completions"]

    def die(self) -> None:
        """Break every connection and stop listening, as a killed process does; may be called from a reply's function."""
        if threading.current_thread() is self._thread:
            self._break_all()
            return
        with contextlib.suppress(RuntimeError):  # its loop is closed: it is dead already
            self._loop.call_soon_threadsafe(self._break_all)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(self.parallel or 1_000_000)
        self._working = 0
        self._hanging = asyncio.Event()
        self._socket.listen(2048)
        self._ready.set()
        await self._server.serve(sockets=[self._socket])

    def _break_all(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._hanging.set()
        for listener in getattr(self._server, "servers", []):
            listener.close()
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/health", lambda _request: Response()),
                Route("/version", lambda _request: JSONResponse({"version": "fake"})),
                Route("/metrics", self._metrics),
                Route("/v1/models", self._models),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/load_lora_adapter", self._load, methods=["POST"]),
                Route("/v1/unload_lora_adapter", self._unload, methods=["POST"]),
            ]
        )

    async def _metrics(self, _request: Request) -> Response:
        return PlainTextResponse(f"vllm:num_requests_running {float(self._working)}\nvllm:num_requests_waiting 0.0\n")

    async def _models(self, _request: Request) -> Response:
        adapters = [{"id": name, "root": path, "parent": self.base_name} for name, path in self.adapters.items()]
        return JSONResponse({"object": "list", "data": [{"id": self.base_name, "parent": None}, *adapters]})

    async def _load(self, request: Request) -> Response:
        body = (await self._record(request)).body
        if not self.lora:
            return JSONResponse({"detail": "Not Found"}, 404)
        name = body["lora_name"]
        if name in self.adapters and not body.get("load_inplace"):
            return _problem(400, f"The lora adapter '{name}' has already been loaded.")
        self.adapters[name] = body["lora_path"]
        return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")

    async def _unload(self, request: Request) -> Response:
        name = (await self._record(request)).body["lora_name"]
        if self.adapters.pop(name, None) is None:
            return _problem(404, f"The lora adapter '{name}' cannot be found.")
        return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")

    async def _chat(self, request: Request) -> Response:
        number = len(self.chats)
        record = await self._record(request)
        failure = self.failures.popleft() if self.failures else None
        if response := await self._failed(failure, request):
            return response
        model = record.body["model"]
        if model != self.base_name and model not in self.adapters:
            return _problem(404, f"The model `{model}` does not exist.")
        answer = self.reply(record.body["messages"], model)
        if isinstance(answer, Failure):
            failure, answer = answer, EMPTY_FRAME
            if response := await self._failed(failure, request):
                return response
        tokens, finish_reason = _tokens(answer, record.body)
        produced = self._produce(record, number, tokens, break_off=failure is not None and failure.break_off)
        if record.body.get("stream"):
            return StreamingResponse(_events(produced, record.body, len(tokens), finish_reason), media_type="text/event-stream")
        text = "".join([token async for token in produced])
        return JSONResponse(_completion(record.body, text, tokens, finish_reason))

    async def _failed(self, failure: Failure | None, request: Request) -> Response | None:
        """What a failure sends instead of a reply; None: a reply is sent, or as much of it as comes before a break."""
        if failure is not None and failure.hang:
            await self._hanging.wait()
        if failure is not None and failure.reset:
            for connection in list(self._server.server_state.connections):
                if getattr(connection, "client", None) == request.scope["client"]:
                    connection.transport.abort()
            return Response()
        if failure is not None and failure.status:
            headers = {"Retry-After": failure.retry_after} if failure.retry_after else None
            return JSONResponse(failure.body or {"error": {"message": "injected"}}, failure.status, headers)
        return None

    async def _produce(self, record: RecordedRequest, number: int, tokens: list[str], *, break_off: bool) -> AsyncIterator[str]:
        self._working += 1
        try:
            async with self._slots:
                await asyncio.sleep(self.ttft_s(number) if callable(self.ttft_s) else self.ttft_s)
                for index, token in enumerate(tokens):
                    if index:
                        await asyncio.sleep(self.token_s)
                    if index == len(tokens) // 2 and break_off:
                        raise ConnectionAbortedError("injected")
                    record.first_token = record.first_token or time.monotonic()
                    yield token
            record.finished = time.monotonic()
        finally:
            self._working -= 1

    async def _record(self, request: Request) -> RecordedRequest:
        received = time.monotonic()
        body = await request.json()
        record = RecordedRequest(request.url.path, body, dict(request.headers), received)
        self.requests.append(record)
        return record


def _tokens(text: str, body: dict[str, Any]) -> tuple[list[str], str]:
    """The reply in pieces of four characters, cut or, with ``ignore_eos``, filled up to max_tokens."""
    limit = int(body.get("max_tokens", 1_000))
    tokens = [text[start : start + 4] for start in range(0, len(text), 4)]
    if body.get("ignore_eos"):
        tokens += [" "] * (limit - len(tokens))
    return tokens[:limit], "stop" if len(tokens) < limit else "length"


async def _events(produced: AsyncIterator[str], body: dict[str, Any], count: int, finish_reason: str) -> AsyncIterator[str]:
    yield _event(body, [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
    async for token in produced:
        yield _event(body, [{"index": 0, "delta": {"content": token}, "finish_reason": None}])
    yield _event(body, [{"index": 0, "delta": {}, "finish_reason": finish_reason}])
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event(body, [], usage=_usage(body, count))
    yield "data: [DONE]\n\n"


def _event(body: dict[str, Any], choices: list[dict[str, Any]], **more: Any) -> str:
    chunk = {"id": "fake", "object": "chat.completion.chunk", "created": 0, "model": body["model"], "choices": choices, **more}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


def _completion(body: dict[str, Any], text: str, tokens: list[str], finish_reason: str) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    if body.get("logprobs"):
        top = [{"token": "other", "logprob": -2.5, "bytes": None}]
        choice["logprobs"] = {
            "content": [
                {"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": [{"token": token, "logprob": -0.1}, *top]}
                for token in tokens
            ]
        }
    base = {"id": "fake", "object": "chat.completion", "created": 0, "model": body["model"]}
    return {**base, "choices": [choice], "usage": _usage(body, len(tokens))}


def _usage(body: dict[str, Any], completion: int) -> dict[str, int]:
    prompt = sum(len(message["content"].split()) for message in body["messages"])
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _problem(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "BadRequest", "code": status}}, status)
