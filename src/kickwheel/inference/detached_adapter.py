"""Model servers that outlive the command that asked for them: each is held by a ``kickwheel serve-model`` process.

The holder writes a record into ``HOME/servers`` when its server is ready and removes it at its end. A record whose holder is
gone means nothing, whatever ended it: the server went with its holder.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psutil
from pydantic import ValidationError

from kickwheel.errors import ServerFailed
from kickwheel.workspace import write_atomically
from schemas.engine import ServerRecord

_STOP_WITHIN_S = 40.0
_POLL_S = 0.2


def announce(home: Path, record: ServerRecord) -> Path:
    """Write the record of a server that is ready; returns its file."""
    path = home / "servers" / f"{record.pid}.json"
    write_atomically(path, record.model_dump_json(indent=1))
    return path


def running_servers(home: Path) -> list[ServerRecord]:
    """Servers whose holders live, by URL. Records of dead holders are removed."""
    alive = []
    for path in sorted((home / "servers").glob("*.json")):
        try:
            record = ServerRecord.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            continue
        if is_held(record):
            alive.append(record)
        else:
            path.unlink(missing_ok=True)
    return sorted(alive, key=lambda record: record.url)


def is_held(record: ServerRecord) -> bool:
    """Whether the process that the record names is that process still."""
    try:
        process = psutil.Process(record.pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - record.started) < 2.0
    except psutil.NoSuchProcess:
        return False


def stop_server(record: ServerRecord) -> None:
    """End the holder and with it the server; waits until the holder is gone. Harmless where it is gone already.

    Raises:
        ServerFailed: it does not end; says which process it is.
    """
    if not is_held(record):
        return
    process = psutil.Process(record.pid)
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_WITHIN_S)
        except psutil.TimeoutExpired:
            process.kill()  # its supervisor notices, and ends the server's group
            try:
                process.wait(5)
            except psutil.TimeoutExpired as error:
                raise ServerFailed(f"process {record.pid} that holds the server at {record.url} does not end") from error


@dataclass(frozen=True)
class DetachedServer:
    """A server held by another process; :class:`~kickwheel.inference.switch_adapter.Stoppable`."""

    record: ServerRecord

    @property
    def url(self) -> str:
        """Base URL, ``/v1`` included."""
        return self.record.url

    @property
    def base_name(self) -> str:
        """Served model name."""
        return self.record.model

    def stop(self) -> None:
        """End it with its holder."""
        stop_server(self.record)


def start_detached(
    arguments: Sequence[str],
    *,
    home: Path,
    limit_s: float = 600.0,
    environment: Mapping[str, str] | None = None,
) -> DetachedServer:
    """Run ``kickwheel serve-model ARGUMENTS`` in a session of its own and wait until its server is ready and warm.

    The server outlives this process; find it again with :func:`running_servers`.

    Raises:
        ServerFailed: it did not come up; the end of the holder's messages is in the error. Nothing is left running.
    """
    folder = home / "servers"
    folder.mkdir(parents=True, exist_ok=True)
    messages = folder / f"holder-{uuid4().hex[:8]}.log"
    command = [sys.executable, "-m", "kickwheel", "serve-model", *arguments]
    with messages.open("wb") as out:
        holder = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**(os.environ if environment is None else environment), "KICKWHEEL_HOME": str(home.resolve())},
            start_new_session=True,
        )
    deadline = time.monotonic() + limit_s
    try:
        while holder.poll() is None and time.monotonic() < deadline:
            for record in running_servers(home):
                if record.pid == holder.pid:
                    return DetachedServer(record)
            time.sleep(_POLL_S)
    except BaseException:
        _end(holder)
        raise
    ended = holder.poll()
    _end(holder)
    said = "\n".join(messages.read_text(encoding="utf-8", errors="replace").splitlines()[-30:])
    why = f"ended with exit code {ended}" if ended is not None else f"was not ready after {limit_s:g} s"
    raise ServerFailed(f"the model server's holder {why}:\n{said}")


def _end(holder: subprocess.Popen[bytes]) -> None:
    holder.terminate()
    try:
        holder.wait(_STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        holder.kill()
        holder.wait()
