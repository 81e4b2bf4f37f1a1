"""Where inference records and feedback of a service go: the domain's event store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kickwheel.feedback.opening import opened_store
from kickwheel.feedback.writer_adapter import GroupCommitWriter
from kickwheel.settings import Settings


@contextmanager
def opened_writer(settings: Settings, domain: str) -> Iterator[GroupCommitWriter]:
    """A writer for the time of the block; what waits is written at its end.

    Raises:
        InputError, ServiceUnavailable, StoreFailed: the store cannot be opened.
    """
    with opened_store(settings, domain) as store, GroupCommitWriter(store) as writer:
        yield writer
