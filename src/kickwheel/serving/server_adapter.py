"""Runs the application under uvicorn: one process, one event loop. More of them follow the same routing, into one store."""

from __future__ import annotations

import gc
import ipaddress
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from kickwheel.errors import InputError
from kickwheel.serving.access import Tokens

KEEP_ALIVE_S = 75
"""Longer than the 60 s for which load balancers usually keep an idle connection, or they meet its end with a request."""
BACKLOG = 2048


def refuse_open_door(host: str, tokens: Tokens) -> None:
    """Without tokens only this machine is listened to.

    Raises:
        InputError: another address, and no token is configured.
    """
    if not tokens and not is_loopback(host):
        raise InputError(
            f"{host} can be reached from elsewhere, and no token is configured: set KICKWHEEL_SERVING__TOKENS to "
            "NAME:understand+feedback:TOKEN (openssl rand -hex 24 makes one), or listen on 127.0.0.1",
            field="--host",
        )


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


SWITCH_S = 0.0005
"""Python's own is 5 ms."""


def listener(host: str, port: int) -> socket.socket:
    """A bound socket; port 0: a free one.

    Raises:
        InputError: it cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, so that the event loop sends small replies at once: else the second write of a reply waits 40 ms for an ACK.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise InputError(
            f"{host} port {port} cannot be had ({error.strerror}): choose another, or port 0", field="--port"
        ) from error
    return bound


def address_of(bound: socket.socket) -> str:
    """The base URL of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]):
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and not self.should_exit:
            # What was imported stays for good: without it in the collector's sight, a full collection takes 2 ms, not 200.
            gc.collect()
            gc.freeze()
            self._on_start()


def run(app: FastAPI, bound: socket.socket, *, drain_s: float, on_start: Callable[[], None]) -> None:
    """Serve until SIGTERM or Ctrl-C: then no connection is taken any more, what has begun is answered, records are written."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        lifespan="on",
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(drain_s)),
    )
    # The thread that writes records must not hold the interpreter for longer than an answer takes.
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()  # what is there now stays: a collection need not look through it while a request waits
    _Server(config, on_start).run(sockets=[bound])
