"""Connections of the load client: one request at a time each, kept open between them.

A protocol on the bare transport and no HTTP client: at 1,000 streamed replies a second a client's parsed headers, checked
objects and locks are what would make the generator late.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from kickwheel.throughput.http_reply import BadReply, HttpReply

IDLE_S = 2.0
"""Longest that a connection may have been idle to carry a request: servers close idle ones after 5 s (uvicorn), and a request
that meets the closing would be an error of ours."""


class Exchange:
    """One request on its way. ``finished`` is called once, with the error's kind or None."""

    __slots__ = ("connection", "ended", "error", "finished", "index", "reply", "scheduled", "sent", "wire")

    def __init__(self, index: int, wire: bytes, scheduled: float, finished: Callable[[Exchange], None]):
        self.index = index
        self.wire = wire
        self.scheduled = scheduled
        self.sent = 0.0
        self.ended = 0.0
        self.reply = HttpReply()
        self.error: str | None = None
        self.finished = finished
        self.connection: Connection | None = None


class Connection(asyncio.Protocol):
    """A keep-alive connection."""

    __slots__ = ("_clock", "_pool", "exchange", "idle_since", "transport")

    def __init__(self, pool: Pool, clock: Callable[[], float]):
        self._pool = pool
        self._clock = clock
        self.exchange: Exchange | None = None
        self.idle_since = 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self.transport = cast("asyncio.Transport", transport)

    def carry(self, exchange: Exchange) -> None:
        """Send a request over it."""
        assert self.transport is not None  # noqa: S101
        self.exchange = exchange
        exchange.connection = self
        self.transport.write(exchange.wire)

    def data_received(self, data: bytes) -> None:
        """A part of a reply."""
        exchange = self.exchange
        if exchange is None:
            self.close()
            return
        now = self._clock()
        reply = exchange.reply
        try:
            reply.feed(data, now)
        except BadReply:
            self._end("bad_reply", now, reuse=False)
            return
        if reply.done:
            self._end(None, now, reuse=reply.keep_alive)

    def connection_lost(self, error: Exception | None) -> None:
        """The server or the network ended it."""
        self._pool.forget(self)
        if self.exchange is not None:
            reply = self.exchange.reply
            reply.closed()
            whole = reply.done and error is None
            self._end(None if whole else "incomplete" if reply.status else "connection", self._clock(), reuse=False)

    def close(self) -> None:
        """Drop it; a request on it ends without a word to anybody."""
        self.exchange = None
        self._pool.forget(self)
        if self.transport is not None:
            self.transport.abort()

    def _end(self, error: str | None, now: float, *, reuse: bool) -> None:
        exchange, self.exchange = self.exchange, None
        assert exchange is not None  # noqa: S101
        exchange.connection = None
        exchange.ended, exchange.error = now, error
        if reuse:
            self.idle_since = now
            self._pool.idle.append(self)
        else:
            self.close()
        exchange.finished(exchange)


class Pool:
    """Idle connections, the last used first; as many as are needed at a time."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None, clock: Callable[[], float]):
        self._address = (host, port)
        self._tls = tls
        self._clock = clock
        self.idle: list[Connection] = []
        self._opening: set[asyncio.Task[None]] = set()

    def send(self, exchange: Exchange) -> None:
        """Send over an idle connection, or over a new one, whose time to open is part of the request's latency."""
        exchange.sent = self._clock()
        while self.idle:
            connection = self.idle.pop()
            if exchange.sent - connection.idle_since <= IDLE_S:
                connection.carry(exchange)
                return
            connection.close()
        task = asyncio.get_running_loop().create_task(self._open(exchange))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def forget(self, connection: Connection) -> None:
        """It is of no use any more."""
        if connection in self.idle:
            self.idle.remove(connection)

    def close(self) -> None:
        """Drop all idle connections and those that are being opened."""
        for connection in list(self.idle):
            connection.close()
        for task in self._opening:
            task.cancel()

    async def _open(self, exchange: Exchange) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(lambda: Connection(self, self._clock), *self._address, ssl=self._tls)
        except (OSError, ssl.SSLError):
            if exchange.error is None:
                exchange.ended, exchange.error = self._clock(), "connection"
                exchange.finished(exchange)
            return
        if exchange.error is not None:  # it was given up meanwhile
            connection.close()
        else:
            connection.carry(exchange)
