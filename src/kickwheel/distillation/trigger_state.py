"""How far distillations have used the event store, and the lock that lets one run at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel

from kickwheel.errors import DistillationRuns
from kickwheel.workspace import write_atomically


class Used(BaseModel):
    """Number of the store's last change that a distillation has seen, and of which store."""

    sequence: int = 0
    store: int = 0


def used_so_far(home: Path, domain: str, store: int) -> int:
    """Number of the last change used; 0 where none was, or where that was another store."""
    path = _file(home, domain)
    if not path.is_file():
        return 0
    used = Used.model_validate_json(path.read_text(encoding="utf-8"))
    return used.sequence if used.store == store else 0


def note_used(home: Path, domain: str, store: int, sequence: int) -> None:
    """A distillation is finished that has seen everything up to ``sequence``."""
    write_atomically(_file(home, domain), Used(sequence=sequence, store=store).model_dump_json())


@contextmanager
def one_distillation(home: Path, domain: str) -> Iterator[None]:
    """Held while one runs. A killed holder's lock is free at once.

    Raises:
        DistillationRuns: another one does.
    """
    path = _file(home, domain).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise DistillationRuns(f"a distillation of {domain} is running already ({path}): wait for its end") from error
    try:
        yield
    finally:
        lock.release()


def _file(home: Path, domain: str) -> Path:
    return home / domain / "feedback" / "distilled.json"
