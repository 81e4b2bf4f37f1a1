"""Labelled rows as they stand in a domain's files: raw JSON, so that whatever else a row holds survives."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from kickwheel.domain_folder import Domain
from kickwheel.errors import InputError
from kickwheel.text_file import not_utf8
from schemas.frame import Frame, Slot
from schemas.registry import LabelFile

LABEL_FILES: tuple[LabelFile, ...] = get_args(LabelFile)


@dataclass(frozen=True)
class LabelledLine:
    """One line of a file of labels."""

    text: str
    """As it stands, without its line end."""
    row: dict[str, Any] | None
    """None: a blank line."""
    frame: Frame | None
    """None: not labelled."""

    @property
    def id(self) -> str:
        """The row's id."""
        return str(self.row.get("id", "")) if self.row else ""


def label_files(domain: Domain) -> Iterator[tuple[LabelFile, Path]]:
    """The domain's files that may hold labels."""
    for split in LABEL_FILES:
        path = domain.feedback if split == "feedback" else domain.file_of(split)
        if path is not None and path.is_file():
            yield split, path


def frame_key(split: LabelFile) -> str:
    """The field that holds the label."""
    return "wanted" if split == "feedback" else "frame"


def read_lines(path: Path, split: LabelFile) -> list[LabelledLine]:
    """Every line of a file.

    Raises:
        InputError: a line is no JSON object, or its label does not hold; names file and line.
    """
    try:
        lines = path.read_bytes().decode().split("\n")  # not read_text: other line ends are to stay as they are
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error
    if lines[-1] == "":
        lines.pop()
    return [parse_line(line, split, path, number) for number, line in enumerate(lines, start=1)]


def parse_line(text: str, split: LabelFile, path: Path, number: int) -> LabelledLine:
    """One line of a file.

    Raises:
        InputError: as :func:`read_lines`.
    """
    if not text.strip():
        return LabelledLine(text, None, None)
    try:
        row = json.loads(text)
        if not isinstance(row, dict):
            raise ValueError(f"expected a JSON object, got {type(row).__name__}")
        label = row.get(frame_key(split))
        return LabelledLine(text, row, _frame(label) if label is not None else None)
    except ValueError as error:  # pydantic's and json's errors are ones
        raise InputError(f"no labelled row: {error}", file=path, line=number) from error


def _frame(label: object) -> Frame:
    """A label without what its contract does not know: that stays in the row."""
    if not isinstance(label, dict):
        raise ValueError(f"expected a label, got {type(label).__name__}")
    slots = [
        {name: slot[name] for name in Slot.model_fields if name in slot} if isinstance(slot, dict) else slot
        for slot in label.get("slots") or ()
    ]
    return Frame.model_validate({"intent": label.get("intent"), "slots": slots})


def relative_name(path: Path, domain: Domain) -> str:
    """A file's name in reports."""
    return Path(os.path.relpath(path, domain.folder)).as_posix()
