"""The vLLM process: started under a supervisor, ended with everything it started."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from kickwheel.errors import ServerFailed

_STOP_WITHIN_S = 20.0


class SupervisedProcess:
    """A command that ends with us, however we end. Its output goes to ``log``.

    Raises:
        ServerFailed: it could not be started.
    """

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path):
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        with log.open("wb") as output:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-m", "kickwheel.inference.supervise", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=dict(environment),
                start_new_session=True,  # Ctrl-C in a terminal is ours to handle, in order
            )
        assert self._supervisor.stdout is not None  # noqa: S101
        first = self._supervisor.stdout.readline().strip()
        if not first:
            self.stop()
            raise ServerFailed(f"the model server could not be started:\n{self.log_tail()}")
        self.pid = int(first)
        """Process id of the server, which is also its process group."""

    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._supervisor.poll() is None

    def stop(self) -> None:
        """End it with its whole group; waits until that is done."""
        supervisor = self._supervisor
        if supervisor.stdin is not None:
            supervisor.stdin.close()
        try:
            supervisor.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            supervisor.kill()
            supervisor.wait()
        if supervisor.returncode < 0 and hasattr(self, "pid"):  # killed itself, so that it could not end the group
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        if supervisor.stdout is not None:
            supervisor.stdout.close()

    def log_tail(self, lines: int = 30) -> str:
        """The end of the log, with its path."""
        text = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
        return "\n".join([*text, f"(whole log: {self._log})"])


def choose_port(wanted: int) -> int:
    """``wanted`` if it is free; a free one for 0.

    Raises:
        ServerFailed: the port is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise ServerFailed(
                f"port {wanted} is taken ({error.strerror}): set KICKWHEEL_SERVER__PORT to another, or to 0 for a free one; "
                f"to use the server that runs there set KICKWHEEL_SERVER__URL to http://127.0.0.1:{wanted}/v1"
            ) from error
        port: int = probe.getsockname()[1]
        return port
