"""Where inference records and feedback of a service go: the domain's event store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.feedback.writer_adapter import GroupCommitWriter


@contextmanager
def opened_writer(home: Path, domain: str, url: str = "") -> Iterator[GroupCommitWriter]:
    """A writer for the time of the block; what waits is written at its end.

    Args:
        url: of the store; empty: SQLite under ``home``.

    Raises:
        InputError, ServiceUnavailable, StoreFailed: it cannot be opened.
    """
    if not url:
        (home / domain / "feedback").mkdir(parents=True, exist_ok=True)
    store = SqlEventStore(url or f"sqlite:///{(home / domain / 'feedback' / 'events.sqlite3').resolve()}")
    try:
        with GroupCommitWriter(store) as writer:
            yield writer
    finally:
        store.close()
