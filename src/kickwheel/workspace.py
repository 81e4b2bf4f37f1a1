"""The lap on disk: where a stage writes, what is finished, and how a killed lap is taken up again.

``home/<domain>/laps/0001/<stage>/`` holds what a stage wrote; ``result.json`` in it is the completion marker, written
last and atomically: the stage's contract beside the fingerprint of the inputs that it was made from. Same fingerprint:
the stage is finished and is not done again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from kickwheel.errors import InputError, StageFailed, StageInputMissing
from kickwheel.text_file import not_utf8
from schemas.base import DataRef, FolderRef
from schemas.lap import STAGES, Stage

Result = TypeVar("Result", bound=BaseModel)
Row = TypeVar("Row", bound=BaseModel)


def write_atomically(path: Path, text: str) -> None:
    """Write to a temporary name and rename: a reader sees the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _disk_full_is_told(path), temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def append_durably(path: Path, rows: Iterable[BaseModel]) -> None:
    """Append rows to a JSONL log and wait until the disk has them. A torn last line (kill -9) is closed off first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _disk_full_is_told(path), path.open("a+b") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        for row in rows:
            file.write(row.model_dump_json().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _disk_full_is_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(path) from error
        raise


def disk_full(path: Path | str) -> StageFailed:
    """The error for a full disk: what was finished stays, and the same command takes the lap up again."""
    return StageFailed(
        f"the disk is full: {path} could not be written. Free some space or set KICKWHEEL_HOME to a larger disk, then run "
        "the same command again: what was finished is kept"
    )


def write_jsonl(path: Path, rows: Iterable[BaseModel]) -> DataRef:
    """Write rows atomically and return the reference to them."""
    lines = [row.model_dump_json() + "\n" for row in rows]
    text = "".join(lines)
    write_atomically(path, text)
    return DataRef(path=str(path), sha256=hashlib.sha256(text.encode()).hexdigest(), rows=len(lines))


def read_jsonl(path: Path, kind: type[Row]) -> list[Row]:
    """Read and check every row of an input file.

    Raises:
        InputError: the file is missing, or a line does not hold; names file, line and field.
    """
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    return [row for _, row in iterate_jsonl(path, kind)]


def iterate_jsonl(path: Path, kind: type[Row]) -> Iterator[tuple[int, Row]]:
    """Rows with their line numbers, from 1. Blank lines are passed over.

    Raises:
        InputError: not UTF-8, or a line does not hold.
    """
    with path.open(encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, parse_row(line, kind, path, number)
        except UnicodeDecodeError as error:
            raise not_utf8(path, error) from error


def parse_row(line: str, kind: type[Row], path: Path, number: int) -> Row:
    """One JSON line as a contract.

    Raises:
        InputError: names file, line and field.
    """
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        raise InputError(first["msg"], file=path, line=number, field=field) from error


def read_log(path: Path, kind: type[Row]) -> list[Row]:
    """Read an append-only log that we wrote ourselves: lines torn by a kill are passed over."""
    if not path.is_file():
        return []
    rows: list[Row] = []
    for line in path.read_bytes().splitlines():
        try:
            rows.append(kind.model_validate_json(line))
        except ValidationError:
            continue
    return rows


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_ref(path: Path) -> FolderRef:
    """Reference to a folder: hash over sorted relative names and file hashes."""
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path)}\0{hash_file(file)}\n".encode())
    return FolderRef(path=str(path), sha256=digest.hexdigest())


def fingerprint(*parts: object) -> str:
    """SHA-256 of JSON-able parts; contracts by their JSON, paths by their content."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, BaseModel):
            text = part.model_dump_json()
        elif isinstance(part, Path):
            text = hash_file(part) if part.is_file() else folder_ref(part).sha256 if part.is_dir() else "absent"
        else:
            text = json.dumps(part, sort_keys=True, ensure_ascii=False, default=str)
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


class StageRecord(BaseModel):
    """What ``result.json`` holds."""

    fingerprint: str
    finished_at: float
    result: dict[str, object]


@dataclass(frozen=True)
class Lap:
    """One lap's folder."""

    folder: Path
    number: int

    def stage(self, stage: Stage) -> Path:
        """Folder of a stage, made if need be."""
        path = self.folder / stage
        path.mkdir(parents=True, exist_ok=True)
        return path

    def work(self, stage: Stage, inputs: str) -> Path:
        """Folder for what a stage makes from just these inputs: changed inputs never meet old checkpoints."""
        path = self.work_path(stage, inputs)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def work_path(self, stage: Stage, inputs: str) -> Path:
        """Where that folder is, whether it is there or not."""
        return self.folder / stage / f"from-{inputs[:12]}"

    def finished(self, stage: Stage, kind: type[Result], inputs: str) -> Result | None:
        """The stage's result, if it was finished from just these inputs."""
        record = self._record(stage)
        return kind.model_validate(record.result) if record and record.fingerprint == inputs else None

    def load(self, stage: Stage, kind: type[Result]) -> Result:
        """The stage's result.

        Raises:
            StageInputMissing: the stage is not finished in this lap.
        """
        record = self._record(stage)
        if record is None:
            raise StageInputMissing(
                f"lap {self.number} has no finished '{stage}' stage: run it first (kickwheel run DOMAIN --stages {stage})"
            )
        return kind.model_validate(record.result)

    def has(self, stage: Stage) -> bool:
        """Whether the stage is finished, whatever its inputs."""
        return self._record(stage) is not None

    def finish(self, stage: Stage, result: BaseModel, inputs: str, now: float | None = None) -> None:
        """Write the completion marker, last of all."""
        record = StageRecord(
            fingerprint=inputs, finished_at=time.time() if now is None else now, result=result.model_dump(mode="json")
        )
        write_atomically(self.stage(stage) / "result.json", record.model_dump_json(indent=1))

    def _record(self, stage: Stage) -> StageRecord | None:
        path = self.folder / stage / "result.json"
        return StageRecord.model_validate_json(path.read_text(encoding="utf-8")) if path.is_file() else None


def laps_of(home: Path, domain: str) -> list[Lap]:
    """Laps of a domain, oldest first."""
    folder = home / domain / "laps"
    numbers = sorted(int(path.name) for path in folder.glob("[0-9]*") if path.is_dir()) if folder.is_dir() else []
    return [Lap(folder / f"{number:04d}", number) for number in numbers]


def open_lap(home: Path, domain: str, number: int = 0) -> Lap:
    """A lap by number; 0 takes the last one up again if it is unfinished, else opens the next."""
    lap = next_lap(home, domain) if number == 0 else Lap(home / domain / "laps" / f"{number:04d}", number)
    lap.folder.mkdir(parents=True, exist_ok=True)
    return lap


def next_lap(home: Path, domain: str) -> Lap:
    """The lap that would be opened or taken up; nothing is written."""
    laps = laps_of(home, domain)
    last = laps[-1] if laps else None
    number = 1 if last is None else last.number if not is_complete(last) else last.number + 1
    return Lap(home / domain / "laps" / f"{number:04d}", number)


def is_complete(lap: Lap) -> bool:
    """Whether the lap's report was written."""
    return (lap.folder / "report.json").is_file()


def previous_lap(home: Path, domain: str, lap: Lap) -> Lap | None:
    """The last complete lap before this one."""
    return next((item for item in reversed(laps_of(home, domain)) if item.number < lap.number and is_complete(item)), None)


def is_whole(lap: Lap) -> bool:
    """Whether every stage of the lap is finished."""
    return all(lap.has(stage) for stage in STAGES)
