"""Erasure of a user from what laps copied: observations and the events of their batches."""

from __future__ import annotations

from pathlib import Path

from kickwheel.feedback.lap_feedback import copy_file
from kickwheel.workspace import Lap, iterate_jsonl, laps_of, write_jsonl
from schemas.feedback import DistillationRow, FeedbackEvent


def erase_copies(home: Path, domain: str, user: str, *, dry_run: bool = False) -> tuple[int, ...]:
    """Take a user's lines out of the laps' copies of live feedback; numbers of the laps that held some.

    Rows of a batch go where the user's answers were all that their case had. Models trained on them stay as they are.
    """
    found = [lap for lap in laps_of(home, domain) if _erase_in(lap, user, dry_run)]
    return tuple(lap.number for lap in found)


def _erase_in(lap: Lap, user: str, dry_run: bool) -> bool:
    gone: set[str] = set()
    left: set[str] = set()
    for path in [copy_file(lap), *sorted((lap.folder / "distillation").glob("from-*/events.jsonl"))]:
        rows = [row for _, row in iterate_jsonl(path, FeedbackEvent)] if path.is_file() else []
        own = [row for row in rows if row.user == user and not row.replayed]
        gone |= {row.case for row in own}
        left |= {row.case for row in rows if row.user != user}
        if own and not dry_run:
            write_jsonl(path, [row for row in rows if row.user != user or row.replayed])
    for path in sorted((lap.folder / "distillation").glob("from-*/batch.jsonl")) if gone and not dry_run else []:
        batch = [row for _, row in iterate_jsonl(path, DistillationRow)]
        write_jsonl(path, [row for row in batch if row.case not in gone - left])
    return bool(gone)
