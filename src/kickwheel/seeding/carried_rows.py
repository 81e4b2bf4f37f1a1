"""Labelled rows that a lap takes over from the one before, when the domain's tasks have changed in between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kickwheel.seeding.checks import failed_rules
from schemas.task import TaskCatalog
from schemas.utterance import Utterance

_OUTDATED = {"unknown_intent", "foreign_slot", "value_not_allowed", "pattern"}
"""Rules that a label comes to break by a change of the tasks alone."""


def carried_rows(before: Iterable[Utterance], current: Mapping[str, Utterance], catalog: TaskCatalog) -> list[Utterance]:
    """Rows of the last lap whose labels still stand.

    A label that the catalogue no longer takes is replaced by the one that the domain's files hold for the row now
    (``kickwheel intent migrate`` moves those); a row without one is left out, so that it can be chosen and labelled again.

    Args:
        current: labelled rows of the domain's files by id.
    """
    kept = []
    for row in before:
        now = current.get(row.id)
        if stands(row, catalog):
            kept.append(row)
        elif now is not None and now.text == row.text and stands(now, catalog):
            kept.append(now)
    return kept


def stands(row: Utterance, catalog: TaskCatalog) -> bool:
    """Whether a row has a label that the tasks still take."""
    return row.frame is not None and not _OUTDATED.intersection(failed_rules(row.text, row.frame, catalog))
