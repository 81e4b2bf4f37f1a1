"""The service's front door: each request gets an id, a bound on its body, and its figures, whatever becomes of it inside."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kickwheel.serving.metrics import ServiceMetrics
from kickwheel.serving.problems import MEDIA_TYPE, advice, problem

LOG = logging.getLogger("kickwheel.serving.access")

_REQUEST_ID = re.compile(r"^[\w.:+/=-]{1,128}$", re.ASCII)
DRAINED_BYTES = 32 * 2**20
"""Read and thrown away of a body that is too large, so that its sender gets to read the answer; beyond, the line is cut."""

_HEADERS = (("x-content-type-options", "nosniff"), ("cache-control", "no-store"))


class Entry:
    """ASGI middleware, outermost. ``scope["state"]["request_id"]`` is the request's id for what is inside.

    Logs one JSON object a request: id, method, path, status, milliseconds to the first and last byte, caller; never a text.
    """

    def __init__(self, app: ASGIApp, *, metrics: ServiceMetrics, max_body_bytes: int):
        self._app, self._metrics, self._max = app, metrics, max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await _Exchange(self._app, self._metrics, self._max, scope, receive, send).run()


class _TooLarge(HTTPException):
    """Of the kind that frameworks let through, wherever they read a body."""

    def __init__(self, limit: int):
        super().__init__(413, f"A body may have {limit} bytes: send less, or in several requests")


class _Exchange:
    """One request."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics, limit: int, scope: Scope, receive: Receive, send: Send):
        self._app, self._metrics, self._limit = app, metrics, limit
        self._scope, self._receive, self._send = scope, receive, send
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        self._id = given if _REQUEST_ID.match(given) else uuid.uuid4().hex
        self._declared = headers.get("content-length")
        self._read = 0
        self._status = 500
        self._begin = time.perf_counter()
        self._first: float | None = None
        scope.setdefault("state", {})["request_id"] = self._id

    async def run(self) -> None:
        try:
            if self._declared is not None and self._declared.isdigit() and int(self._declared) > self._limit:
                await self._drain()
                await self._answer(413, _TooLarge(self._limit).detail)
            else:
                await self._app(self._scope, self._receive_bounded, self._send_noted)
        except Exception:
            LOG.exception("request %s failed", self._id)
            if self._first is not None:
                raise  # half an answer is out: only a broken connection tells its reader
            await self._answer(500, advice(500))
        finally:
            self._tell()

    async def _receive_bounded(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            if self._read > self._limit:
                await self._drain(more=message.get("more_body", False))
                raise _TooLarge(self._limit)
        return message

    async def _send_noted(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._first = message["status"], time.perf_counter()
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self._id
            for name, value in _HEADERS:
                headers.setdefault(name, value)
        await self._send(message)

    async def _drain(self, *, more: bool = True) -> None:
        """Let the sender come to its end, and so to the answer."""
        while more and self._read < DRAINED_BYTES:
            message = await self._receive()
            self._read += len(message.get("body", b""))
            more = message["type"] == "http.request" and message.get("more_body", False)

    async def _answer(self, status: int, detail: str) -> None:
        told = problem(status, detail, self._id)
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"connection", b"close")]
        await self._send_noted({"type": "http.response.start", "status": status, "headers": headers})
        await self._send_noted({"type": "http.response.body", "body": told.model_dump_json().encode()})

    def _tell(self) -> None:
        """Figures and a line of the log: also of what failed on its way."""
        last = time.perf_counter()
        first = last if self._first is None else self._first
        route = self._scope.get("route")
        path = str(getattr(route, "path", "other"))
        method = self._scope["method"] if self._scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(path, method, str(self._status)).inc()
        self._metrics.seconds.labels(path).observe(last - self._begin)
        self._metrics.first_byte.labels(path).observe(first - self._begin)
        if LOG.isEnabledFor(logging.INFO):
            line: dict[str, Any] = {
                "request_id": self._id,
                "method": method,
                "path": path,
                "status": self._status,
                "first_byte_ms": round(1000 * (first - self._begin), 2),
                "ms": round(1000 * (last - self._begin), 2),
                "caller": self._scope["state"].get("caller", ""),
            }
            LOG.info(json.dumps(line))


_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
