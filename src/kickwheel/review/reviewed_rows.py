"""What the seeding stage takes from reviewers: their settled labels as they stood when the stage was started.

People go on answering while rounds run. So the stage works from a copy in the lap's folder, taken at its start; the copy is
among the inputs that decide whether the stage is finished, so that new answers make it run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kickwheel.review.queue import DomainReview
from kickwheel.review.standing import settled_rows
from kickwheel.seeding.carried_rows import stands
from kickwheel.workspace import Lap, read_jsonl, write_jsonl
from schemas.base import Contract
from schemas.task import TaskCatalog
from schemas.utterance import Utterance


class ReviewedRow(Contract):
    """A row that people have settled, and the first lap that asked about it."""

    row: Utterance
    lap: int


@dataclass(frozen=True)
class Reviewed:
    """Reviewers' rows, split by what a lap does with them.

    Args:
        known: asked about in earlier laps: labelled rows from the start, chosen no more.
        answers: asked about in this lap: they settle what its rounds ask, by id.
    """

    known: Sequence[Utterance]
    answers: Mapping[str, Utterance]


def answers_copy(lap: Lap) -> Path:
    """The lap's copy of what reviewers have settled; there is none where nobody has answered anything."""
    return lap.folder / "seeding" / "reviewed.jsonl"


def copy_answers(review: DomainReview, lap: Lap) -> int:
    """Take the copy of the present answers; returns how many rows it has. Without any answer there is no file."""
    asked = {row.key: row.lap for row in review.rows()}
    rows = [ReviewedRow(row=row, lap=asked[row.id, row.text]) for row in settled_rows(review.standings())]
    if rows or answers_copy(lap).is_file():
        write_jsonl(answers_copy(lap), rows)
    return len(rows)


def reviewed_rows(lap: Lap, pool: Iterable[Utterance], catalog: TaskCatalog) -> Reviewed:
    """The copy's rows that the pool still holds and whose labels the tasks still take."""
    copy = answers_copy(lap)
    rows = read_jsonl(copy, ReviewedRow) if copy.is_file() else []
    texts = {row.id: row.text for row in pool} if rows else {}
    rows = [item for item in rows if texts.get(item.row.id) == item.row.text and stands(item.row, catalog)]
    return Reviewed(
        known=[item.row for item in rows if item.lap < lap.number],
        answers={item.row.id: item.row for item in rows if item.lap >= lap.number},
    )


def with_reviewed(rows: Iterable[Utterance], known: Sequence[Utterance]) -> list[Utterance]:
    """Labelled rows and what people know: a person's label takes the place of another one of the same row."""
    by_id = {row.id: row for row in known}
    kept = list(rows)
    there = {row.id for row in kept}
    return [*(by_id.get(row.id, row) for row in kept), *(row for row in known if row.id not in there)]
