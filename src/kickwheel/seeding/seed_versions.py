"""Versions of a domain's labelled rows: each is a file named by its own hash, written once and never changed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.workspace import hash_file, read_jsonl
from schemas.base import DataRef
from schemas.seed_versions import Relabelled, SeedSetDiff
from schemas.utterance import Utterance

FOLDER = "seed_sets"
_SHORTEST = 4


def keep_version(ref: DataRef, folder: Path) -> Path:
    """Copy a file of rows to where it stays, whatever becomes of the lap; one that is there already is left as it is."""
    kept = folder / f"{ref.sha256}.jsonl"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(".tmp")
        shutil.copyfile(ref.path, temporary)
        temporary.chmod(0o444)
        temporary.replace(kept)
    return kept


def find_version(name: str, home: Path) -> Path:
    """The file of a version: a path, or the first characters of its hash.

    Raises:
        InputError: there is none, or more than one.
    """
    if Path(name).is_file():
        return Path(name)
    usable = len(name) >= _SHORTEST and name.isalnum()
    found = sorted(home.glob(f"*/{FOLDER}/{name}*.jsonl")) if usable else []
    distinct = {path.name: path for path in found}
    if len(distinct) != 1:
        which = f"{len(distinct)} versions begin with it" if distinct else "no such file, and no version begins with it"
        raise InputError(
            f"{name!r}: {which}. A version is a JSONL file or at least {_SHORTEST} characters of its hash, as the report's "
            "'training rows' gives it",
            file=home,
        )
    return next(iter(distinct.values()))


def diff_versions(before: Path, after: Path) -> SeedSetDiff:
    """What changed between two files of labelled rows.

    Raises:
        InputError: a row does not hold, or an id stands twice in a file.
    """
    old, new = _by_id(before), _by_id(after)
    both = [row_id for row_id in old if row_id in new]
    relabelled = [row_id for row_id in both if _said(old[row_id]) != _said(new[row_id])]
    reworded = [row_id for row_id in both if old[row_id].text != new[row_id].text]
    return SeedSetDiff(
        before=hash_file(before),
        after=hash_file(after),
        added=tuple(row_id for row_id in new if row_id not in old),
        removed=tuple(row_id for row_id in old if row_id not in new),
        relabelled=tuple(Relabelled(id=row_id, before=old[row_id].frame, after=new[row_id].frame) for row_id in relabelled),
        reworded=tuple(reworded),
        unchanged=len(set(both) - set(relabelled) - set(reworded)),
    )


def _by_id(path: Path) -> Mapping[str, Utterance]:
    rows = read_jsonl(path, Utterance)
    found = {row.id: row for row in rows}
    if len(found) < len(rows):
        seen: set[str] = set()
        twice = next(row.id for row in rows if row.id in seen or seen.add(row.id))  # type: ignore[func-returns-value]
        raise InputError(f"the id {twice!r} stands there twice", file=path, field="id")
    return found


def _said(row: Utterance) -> object:
    """The label by intent and slot places: a masked value is the same slot."""
    return row.frame and (row.frame.intent, [(slot.name, slot.start, slot.end) for slot in row.frame.slots])
