"""Files that are there as a whole or not at all, however large; and folders that a killed process leaves no trace of."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to, moved to ``path`` at the end of the block; after an exception it is removed instead.

    What a killed process of this machine left half written beside ``path`` is removed first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for orphan in path.parent.glob(f".{path.name}.{_HOST}.*.tmp"):
        if _is_dead(orphan.name.split(".")[-2]):
            orphan.unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def passing_folder(parent: Path) -> Iterator[Path]:
    """A folder for the time of the block; what killed processes of this machine left in ``parent`` is removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    for orphan in parent.glob(f"staging-{_HOST}.*"):
        if _is_dead(orphan.name.split(".")[1]):
            shutil.rmtree(orphan, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"staging-{_HOST}.{os.getpid()}.", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_dead(process: str) -> bool:
    return process.isdigit() and not psutil.pid_exists(int(process))
