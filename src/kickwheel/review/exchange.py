"""The queue as a JSONL file, out and in again. Importing twice is importing once; nothing in the log is overwritten.

What a file says is taken whole or not at all: one line that does not hold, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from kickwheel.errors import InputError
from kickwheel.review.answer_log import AnswerLog
from kickwheel.review.answering import answer_to, refuse_unfit
from kickwheel.review.standing import Standing
from kickwheel.seeding.review_queue import ReviewItem
from kickwheel.text_file import not_utf8
from kickwheel.workspace import parse_row
from schemas.base import Contract
from schemas.frame import Frame
from schemas.review import ReviewAnswer, ReviewRow
from schemas.task import TaskCatalog

Choice = Literal["open", "conflicts", "answered", "all"]


class Taken(Contract):
    """What an import did to the log."""

    added: int
    known: int
    superseded: int


def chosen(standings: Sequence[Standing], choice: Choice) -> list[Standing]:
    """The rows of a choice: open (no settled label yet), conflicts, answered (by anybody) or all."""
    return [
        row
        for row in standings
        if choice == "all"
        or (choice == "open" and row.state != "settled")
        or (choice == "conflicts" and row.state == "conflict")
        or (choice == "answered" and row.answers)
    ]


def sheet(standings: Sequence[Standing], choice: Choice) -> list[ReviewRow]:
    """Lines of an export. Rows to be filled in (open) never show what others have answered: reviewers stay independent."""
    return [
        ReviewRow(
            id=row.item.id,
            text=row.item.text,
            language=row.item.language,
            suggestion=row.item.suggestion,
            intent_confidence=row.item.intent_confidence,
            slot_confidence=row.item.slot_confidence,
            reasons=row.item.reasons,
            confidence=row.item.probe_confidence,
            round=row.item.round,
            answers=() if choice == "open" else tuple(row.answers.values()),
        )
        for row in chosen(standings, choice)
    ]


def read_sheet(
    path: Path,
    standings: Sequence[Standing],
    catalog: TaskCatalog,
    *,
    reviewer: str,
    at: datetime,
) -> tuple[list[ReviewAnswer], list[InputError]]:
    """The answers of a filled-in file, and everything that does not hold, each with file, line and field.

    Args:
        reviewer: who filled in the lines that name nobody.
        at: the time of answers that carry none.
    """
    rows = {row.item.id: row.item for row in standings}
    answers: list[ReviewAnswer] = []
    problems: list[InputError] = []
    for number, line in _lines(path, problems):
        try:
            answers += _answers_of(line, rows, catalog, reviewer, at)
        except InputError as error:
            problems.append(InputError(error.message, file=path, line=number, field=error.field))
    return answers, problems


def asked(row_id: str, text: str, rows: Mapping[str, ReviewItem]) -> ReviewItem:
    """The queue's row that an answer belongs to.

    Raises:
        InputError: there is no such row, or its text is another one.
    """
    item = rows.get(row_id)
    if item is None:
        raise InputError(f"{row_id!r} is not in the review queue", field="id")
    if item.text != text:
        raise InputError(f"the queue's row {row_id!r} says {item.text!r}, the file says {text!r}", field="text")
    return item


def take(answers: Sequence[ReviewAnswer], log: AnswerLog) -> Taken:
    """Add answers of a file to the log.

    An answer that its reviewer has given before is known, whenever that was: so a file that is imported again never
    brings back what its reviewer has changed or undone since (superseded).
    """
    added: list[ReviewAnswer] = []
    known = superseded = 0
    with log.writing() as lines:
        history: dict[tuple[str, str, str], list[ReviewAnswer]] = {}
        for line in lines:
            history.setdefault(_giver(line), []).append(line)
        for answer in answers:
            given = history.setdefault(_giver(answer), [])
            if _said(answer) not in map(_said, given):
                given.append(answer)
                added.append(answer)
            elif _said(max(given, key=lambda line: line.at)) == _said(answer):
                known += 1
            else:
                superseded += 1
        if added:
            log.append(added)
    return Taken(added=len(added), known=known, superseded=superseded)


def _giver(answer: ReviewAnswer) -> tuple[str, str, str]:
    return answer.id, answer.text, answer.reviewer


def _said(answer: ReviewAnswer) -> Frame | str:
    """What an answer comes to: whether a label was accepted or written anew depends on the suggestion of its day."""
    return answer.frame or answer.decision


def _lines(path: Path, problems: list[InputError]) -> Iterator[tuple[int, ReviewRow]]:
    """Lines with their numbers; a line that is no row is a problem, and the reading goes on."""
    if not path.is_file():
        problems.append(InputError("there is no such file", file=path))
        return
    with path.open(encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    try:
                        yield number, parse_row(line, ReviewRow, path, number)
                    except InputError as error:
                        problems.append(error)
        except UnicodeDecodeError as error:
            problems.append(not_utf8(path, error))


def _answers_of(
    line: ReviewRow, rows: Mapping[str, ReviewItem], catalog: TaskCatalog, reviewer: str, at: datetime
) -> Iterator[ReviewAnswer]:
    item = asked(line.id, line.text, rows)
    for answer in line.answers:
        asked(answer.id, answer.text, rows)
        if answer.id != line.id:
            raise InputError(f"an answer to {answer.id!r} stands in the line of {line.id!r}", field="answers")
        if answer.frame is not None:
            refuse_unfit(item.text, answer.frame, catalog)
        yield answer
    if line.decision is not None or line.frame is not None:
        name = line.reviewer or reviewer
        if not name:
            raise InputError("who answered? Fill in reviewer, or import with --reviewer NAME", field="reviewer")
        yield answer_to(item, catalog, reviewer=name, at=at, via="file", decision=line.decision, frame=line.frame)
