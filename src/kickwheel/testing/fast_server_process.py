"""Starts a :mod:`~kickwheel.testing.fast_server` as a process, and reads its record."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Self

import httpx2

from kickwheel.testing.fast_server import Behaviour, Seen


class FastServer:
    """Use as a context manager; ``url`` ends in ``/v1``. It ends with the block, and with this process."""

    def __init__(self, behaviour: Behaviour | None = None):
        self.behaviour = behaviour or Behaviour()
        self.url = ""

    def __enter__(self) -> Self:
        source = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH", "")) if part)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kickwheel.testing.fast_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018
        self._process.stdin.write(json.dumps(asdict(self.behaviour)).encode() + b"\n")
        self._process.stdin.flush()
        port = int(self._process.stdout.readline())
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def kill(self) -> None:
        """As ``kill -9``."""
        self._process.kill()
        self._process.wait()

    def record(self) -> list[Seen]:
        """Every chat request as the server saw it, in order of arrival."""
        page = httpx2.get(f"{self.url.removesuffix('/v1')}/record", timeout=30.0, trust_env=False)
        return [Seen(**seen) for seen in page.json()]
