"""A Prefect server and workers of our own, as processes, for tests of what happens when nobody is there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

KICKWHEEL = [sys.executable, "-c", "from kickwheel.cli import main; main()"]
PREFECT = [sys.executable, "-m", "prefect"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(command: list[str], log: Path, environment: dict[str, str], folder: Path) -> Iterator[None]:
    with log.open("ab") as out:
        started = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        try:
            started.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def wait_for(url: str, body: dict[str, object] | None, seconds: float, log: Path) -> list[dict[str, Any]]:
    """Ask until the answer is not empty."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            reply = httpx2.post(url, json=body) if body is not None else httpx2.get(url)
            if reply.status_code == 200 and reply.json():
                return list(reply.json()) if body is not None else []
        except httpx2.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"nothing from {url} within {seconds:g} s; the end of {log}:\n{log.read_text()[-4000:]}")
