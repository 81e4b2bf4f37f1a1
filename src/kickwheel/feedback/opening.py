"""The event store of a domain: where it is, opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.settings import Settings


def store_file(settings: Settings, domain: str) -> Path:
    """SQLite file of a domain's events, used where no other database is set."""
    return settings.home / domain / "feedback" / "events.sqlite3"


def store_url(settings: Settings, domain: str) -> str:
    """Address of the domain's events."""
    return settings.feedback.url.get_secret_value() or f"sqlite:///{store_file(settings, domain).resolve()}"


def has_store(settings: Settings, domain: str) -> bool:
    """Whether there is one; opening it would make it."""
    return bool(settings.feedback.url.get_secret_value()) or store_file(settings, domain).is_file()


@contextmanager
def opened_store(settings: Settings, domain: str) -> Iterator[SqlEventStore]:
    """The domain's store, for the time of the block.

    Raises:
        InputError, ServiceUnavailable, StoreFailed: it can't be opened.
    """
    store = SqlEventStore(store_url(settings, domain))
    try:
        yield store
    finally:
        store.close()
