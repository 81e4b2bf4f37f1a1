"""The routing on disk: ``home/<domain>/serving/routing.json``. Promotion writes it, every process of the API watches it."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from kickwheel.errors import InputError, StaleRouting
from kickwheel.workspace import write_atomically
from schemas.serving import Routing

LOCK_WITHIN_S = 10.0
"""A write takes milliseconds; whoever holds the lock longer hangs. A killed holder's lock is free at once (the kernel's)."""

POLL_S = 0.2
"""How often a watcher looks: a change is in service within 0.5 s, for the price of one ``stat`` call."""


def routing_path(home: Path, domain: str) -> Path:
    """Where a domain's routing lies."""
    return home / domain / "serving" / "routing.json"


def read_routing(path: Path) -> Routing | None:
    """The routing in service; None: nothing was ever put in service.

    Raises:
        InputError: the file is none that :func:`write_routing` wrote.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        return Routing.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or None
        raise InputError(f"{first['msg']}: put it back from kickwheel history", file=path, field=place) from error


def write_routing(path: Path, routing: Routing) -> None:
    """Put a routing in service. Readers see the old one or the whole new one, also after a kill.

    ``routing.revision`` must be one more than that of the file (1 where there is none): whoever decided on an older state is
    refused and nothing is written.

    Raises:
        StaleRouting: somebody wrote in between, or holds the lock and hangs.
        InputError: the file that is there does not hold.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_WITHIN_S):
            standing = read_routing(path)
            expected = standing.revision + 1 if standing else 1
            if routing.revision != expected:
                raise StaleRouting(
                    f"{path}: expected revision {expected}, got {routing.revision}: somebody changed the routing in between. "
                    "Read it again and decide anew"
                )
            write_atomically(path, routing.model_dump_json(indent=1))
    except Timeout as error:
        raise StaleRouting(f"{path}: another process has held its lock for {LOCK_WITHIN_S:g} s; nothing was written") from error


class RoutingWatch:
    """Tells changes of the file, a ``stat`` a look. For one reader; each has its own.

    The first look tells what is there.
    """

    def __init__(self, path: Path):
        self.path = path
        self._seen: tuple[int, int, int] | None = None

    def look(self) -> Routing | None:
        """The routing, if the file was replaced since the last look; None: nothing new, or there is no file.

        Raises:
            InputError: the file does not hold; told once, not again before it is replaced.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        mark = (found.st_mtime_ns, found.st_ino, found.st_size)
        if mark == self._seen:
            return None
        self._seen = mark
        return read_routing(self.path)
