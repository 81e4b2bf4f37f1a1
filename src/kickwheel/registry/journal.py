"""Several files of a domain changed as one: whatever kills us, all of them are old, or the next call makes all of them new."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from kickwheel.errors import DomainError
from kickwheel.workspace import hash_file, write_atomically
from schemas.registry import Journal, JournalEntry

JOURNAL = "registry/.unfinished.json"


def write_together(folder: Path, files: Mapping[Path, str | None]) -> None:
    """Write files below or beside a domain's folder; None removes one."""
    write_down(folder, files)
    finish_pending(folder)


def write_down(folder: Path, files: Mapping[Path, str | None]) -> None:
    """Write the journal, and nothing else: its appearance is the point of no return."""
    entries = {
        os.path.relpath(path, folder): JournalEntry(before=hash_file(path) if path.is_file() else None, text=text)
        for path, text in files.items()
    }
    write_atomically(folder / JOURNAL, Journal(files=entries).model_dump_json())


def pending(folder: Path) -> bool:
    """Whether a change was interrupted."""
    return (folder / JOURNAL).is_file()


def refuse_pending(folder: Path) -> None:
    """Before something that only reads.

    Raises:
        DomainError: a change was interrupted, so that the files do not belong together.
    """
    if pending(folder):
        problem = "a publication or migration was interrupted: run it again (without --dry-run), that finishes it first"
        raise DomainError(problem, file=folder / JOURNAL)


def finish_pending(folder: Path) -> bool:
    """Finish what was interrupted; False: there is nothing.

    Raises:
        DomainError: a file was edited in between. Nothing is written then.
    """
    if not pending(folder):
        return False
    journal = Journal.model_validate_json((folder / JOURNAL).read_text(encoding="utf-8"))
    for name, entry in journal.files.items():
        found = hash_file(folder / name) if (folder / name).is_file() else None
        if found not in (entry.before, _hash(entry.text)):
            problem = (
                f"was edited after a change of it had been interrupted: restore it, or remove {JOURNAL} to give that change up"
            )
            raise DomainError(problem, file=folder / name)
    for name, entry in journal.files.items():
        if entry.text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_atomically(folder / name, entry.text)
    (folder / JOURNAL).unlink()
    return True


def _hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
