"""Labels that follow renamed, split and merged intents. No row is dropped: what nobody can decide is set aside for people.

Rows that were set aside are looked at again in each run: once the map decides for them, they go back to their file.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kickwheel.domain_folder import Domain
from kickwheel.registry.journal import finish_pending, refuse_pending, write_together
from kickwheel.registry.labels import LabelledLine, label_files, parse_line, read_lines, relative_name
from kickwheel.registry.migration_rules import IntentRule, read_migration_map
from kickwheel.registry.relabelling import Relabelled, Undecided, relabel
from kickwheel.workspace import read_jsonl, write_atomically
from schemas.registry import LabelFile, MigratedFile, MigrationReport, MigrationReviewRow
from schemas.task import TaskCatalog

REVIEW = "registry/migration-review.jsonl"
REPLACED = "registry/replaced"


def migrate(domain: Domain, map_file: Path, catalog: TaskCatalog, *, dry_run: bool = False) -> MigrationReport:
    """Move the labels of a domain's files to the intents that the documents name now.

    All files change together; the old ones are kept in ``registry/replaced`` under their hash. Running it twice changes
    nothing. An interrupted migration or publication is finished first.

    Raises:
        YamlProblems: the map does not hold.
        InputError: a file of labels does not hold. Nothing is written then.
    """
    folder, resumed = domain.folder, False
    rules = read_migration_map(map_file, catalog)
    if dry_run:
        refuse_pending(folder)
    else:
        resumed = finish_pending(folder)
    review_file = folder / REVIEW
    waiting = read_jsonl(review_file, MigrationReviewRow) if review_file.is_file() else []
    moved = [_move(split, path, waiting, rules, catalog) for split, path in label_files(domain)]
    known = {file.split for file in moved}
    still = [row for row in waiting if row.split not in known] + [row for file in moved for row in file.waiting]
    files: dict[Path, str | None] = {file.path: file.text for file in moved if file.text != file.before}
    review_text = "".join(row.model_dump_json() + "\n" for row in still)
    if still != waiting:
        files[review_file] = review_text or None
    if files and not dry_run:
        for file in moved:
            if file.path in files:
                write_atomically(_backup(file, domain), file.before)
        write_together(folder, files)
    return MigrationReport(
        domain=domain.name,
        written=bool(files) and not dry_run,
        resumed=resumed,
        files=tuple(_told(file, domain) for file in moved),
        waiting=len(still),
        eval_note=_eval_note(next(file for file in moved if file.split == "eval")),
    )


@dataclass(frozen=True)
class _Moved:
    """A file of labels, before and after."""

    split: LabelFile
    path: Path
    before: str
    text: str
    rows: int
    moves: Mapping[str, int]
    set_aside: int
    taken_back: int
    waiting: Sequence[MigrationReviewRow]


def _move(
    split: LabelFile,
    path: Path,
    waiting: Sequence[MigrationReviewRow],
    rules: Mapping[str, IntentRule],
    catalog: TaskCatalog,
) -> _Moved:
    moves: Counter[str] = Counter()
    lines = read_lines(path, split)
    kept: list[tuple[int, str]] = []
    aside: list[MigrationReviewRow] = []
    for number, line in enumerate(lines, start=1):
        match relabel(line, split, rules, catalog):
            case Relabelled() as new:
                kept.append((number, new.text))
                moves[f"{new.before} -> {new.after}"] += 1
            case Undecided() as open_question:
                aside.append(_review_row(line, split, number, open_question))
            case None:
                kept.append((number, line.text))
    texts = [text for _, text in kept]
    back, still = _taken_back([row for row in waiting if row.split == split], split, path, rules, catalog)
    for row_line, text in back:
        texts.insert(min(row_line - 1, len(texts)), text)
    before = path.read_bytes().decode()
    changed = moves or aside or back
    return _Moved(
        split=split,
        path=path,
        before=before,
        text="".join(text + "\n" for text in texts) if changed else before,
        rows=sum(line.row is not None for line in lines),
        moves=moves,
        set_aside=len(aside),
        taken_back=len(back),
        waiting=[*still, *aside],
    )


def _taken_back(
    waiting: Sequence[MigrationReviewRow],
    split: LabelFile,
    path: Path,
    rules: Mapping[str, IntentRule],
    catalog: TaskCatalog,
) -> tuple[list[tuple[int, str]], list[MigrationReviewRow]]:
    """Rows that the map decides for now, by the line that they came from, and those that wait on."""
    back: list[tuple[int, str]] = []
    still: list[MigrationReviewRow] = []
    for row in waiting:
        line = parse_line(json.dumps(row.row, ensure_ascii=False), split, path, row.line)
        match relabel(line, split, rules, catalog):
            case Relabelled() as new:
                back.append((row.line, new.text))
            case Undecided() as open_question:
                still.append(_review_row(line, split, row.line, open_question))
            case None if line.frame and line.frame.intent in rules:
                back.append((row.line, line.text))
            case None:
                still.append(row)
    return sorted(back, key=lambda item: item[0]), still


def _review_row(line: LabelledLine, split: LabelFile, number: int, found: Undecided) -> MigrationReviewRow:
    return MigrationReviewRow(
        id=line.id, split=split, line=number, reason=found.reason, candidates=found.candidates, row=line.row or {}
    )


def _backup(file: _Moved, domain: Domain) -> Path:
    digest = hashlib.sha256(file.before.encode()).hexdigest()
    return domain.folder / REPLACED / f"{file.path.stem}-{digest[:12]}{file.path.suffix}"


def _told(file: _Moved, domain: Domain) -> MigratedFile:
    return MigratedFile(
        split=file.split,
        file=relative_name(file.path, domain),
        rows=file.rows,
        changed=sum(file.moves.values()),
        set_aside=file.set_aside,
        taken_back=file.taken_back,
        moves=dict(sorted(file.moves.items())),
        backup=relative_name(_backup(file, domain), domain) if file.text != file.before else None,
    )


def _eval_note(file: _Moved) -> str:
    if file.text == file.before:
        return "no evaluation row changes"
    moves = ", ".join(f"{move}: {count}" for move, count in sorted(file.moves.items())) or "none"
    return (
        f"of {file.rows} evaluation rows {sum(file.moves.values())} get another label ({moves}), {file.set_aside} are set "
        f"aside, {file.taken_back} come back: figures of laps before and after are not of the same evaluation set"
    )
