"""How long answers and events are kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from kickwheel.feedback.opening import has_store, opened_store
from kickwheel.settings import Settings
from schemas.events import Erased


def apply_retention(settings: Settings, domain: str, *, now: datetime, days: float = 0, dry_run: bool = False) -> Erased:
    """Remove answers that are older than ``days`` and events about them; events that wait for an answer go by their arrival.

    ``days`` 0: what ``feedback.retention_days`` says, where 0 means never. Copies in the folders of laps stay.

    Raises:
        InputError, ServiceUnavailable, StoreFailed: the store can't be opened.
    """
    days = days or settings.feedback.retention_days
    if not days or not has_store(settings, domain):
        return Erased(dry_run=dry_run, inferences=0, events=0)
    with opened_store(settings, domain) as store:
        return store.prune(now - timedelta(days=days), dry_run=dry_run)
