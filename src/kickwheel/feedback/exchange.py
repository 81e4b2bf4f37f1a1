"""Events in files: lines checked one by one, handed over in parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from kickwheel.errors import InputError
from kickwheel.feedback.ports import Submission
from kickwheel.feedback.store_adapter import EVENT
from kickwheel.text_file import not_utf8
from schemas.events import Event, InferenceRecord, Received
from schemas.evidence import ImportReport

PART = 500
"""Rows of one transaction."""


def parsed_lines(file: Path, lines: Iterable[str] | None = None) -> Iterator[InferenceRecord | Event]:
    """Inference records and events of a JSONL file; what has a ``kind`` is an event. ``lines``: of a stream, not of the file.

    Raises:
        InputError: there is no such file, or a line does not hold; names file, line and field.
    """
    if lines is None:
        if not file.is_file():
            raise InputError("there is no such file", file=file)
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise not_utf8(file, error) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _parsed(line, file, number)


def _parsed(line: str, file: Path, number: int) -> InferenceRecord | Event:
    try:
        found = json.loads(line)
        if isinstance(found, dict) and "kind" in found:
            return EVENT.validate_json(line)
        return InferenceRecord.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        raise InputError(first["msg"], file=file, line=number, field=field) from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"no JSON: {error}", file=file, line=number) from error


def submissions(facts: Sequence[InferenceRecord | Event]) -> list[Submission]:
    """Facts in parts that are written in one transaction each."""
    parts = [facts[start : start + PART] for start in range(0, len(facts), PART)]
    return [
        Submission(
            tuple(item for item in part if isinstance(item, InferenceRecord)),
            tuple(item for item in part if not isinstance(item, InferenceRecord)),
        )
        for part in parts
    ]


def imported(facts: Sequence[InferenceRecord | Event], receipts: Sequence[Received] | None = None) -> ImportReport:
    """What was read and, with receipts, what became of it."""
    records = sum(isinstance(item, InferenceRecord) for item in facts)
    told = receipts or ()
    return ImportReport(
        records=records,
        events=len(facts) - records,
        added=sum(item.added for item in told),
        duplicates=sum(item.duplicates for item in told),
        differing=tuple(name for item in told for name in item.differing),
        dry_run=receipts is None,
    )
