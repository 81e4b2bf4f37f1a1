"""A small process that stands between us and the model server, so that the server never outlives us.

``python -m kickwheel.inference.supervise COMMAND…`` starts the command in a process group of its own and writes its
process id to stdout. When its stdin ends (the other end belongs to the process that started it, which even ``kill -9``
closes), when its parent is gone, or on SIGTERM, it ends the whole group. Standard library only: it has to start fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from types import FrameType

GRACE_S = 5.0
"""From SIGTERM to SIGKILL."""

_POLL_S = 0.2
_PR_SET_CHILD_SUBREAPER = 36


def main(command: list[str]) -> int:
    """Run ``command`` until it ends or nobody wants it any more; returns its exit status."""
    parent = os.getppid()
    _adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), stderr=sys.stderr.fileno(), start_new_session=True
        )
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror or error}\n")
        return 127
    try:
        sys.stdout.write(f"{server.pid}\n")
        sys.stdout.flush()
        while server.poll() is None and os.getppid() == parent and not _stdin_ended():
            pass
    finally:
        end_group(server)
    return server.returncode


def end_group(server: subprocess.Popen[bytes], grace_s: float = GRACE_S) -> None:
    """SIGTERM to the group, SIGKILL to whatever is left when its leader has gone or ``grace_s`` has passed; waits for all."""
    _signal_group(server.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while server.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal_group(server.pid, signal.SIGKILL)
    server.wait()
    with contextlib.suppress(ChildProcessError):  # none is left
        while True:
            os.waitpid(-server.pid, 0)


def _adopt_orphans() -> None:
    """Become the parent of what the server leaves behind, so that its end can be waited for (Linux; else init's affair)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _stdin_ended() -> bool:
    readable, _, _ = select.select([sys.stdin.fileno()], [], [], _POLL_S)
    return bool(readable) and os.read(sys.stdin.fileno(), 4096) == b""


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def _leave(number: int, _frame: FrameType | None) -> None:
    for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
