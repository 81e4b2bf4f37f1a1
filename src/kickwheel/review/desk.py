"""What the review page does, without HTTP: the next row for a reviewer, an answer, an undo, the figures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock

from pydantic import Field

from kickwheel.errors import InputError
from kickwheel.review.answer_log import Key, current
from kickwheel.review.answering import answer_to
from kickwheel.review.exchange import sheet
from kickwheel.review.queue import DomainReview, QueuedRow
from kickwheel.review.standing import Standing, standing_of, status_of
from schemas.base import Contract, Rate
from schemas.frame import Frame
from schemas.review import Decision, ReviewAnswer, ReviewRow, ReviewStatus
from schemas.task import TaskCatalog


class ShownRow(Contract):
    """One row on the page."""

    id: str
    text: str
    suggestion: Frame | None
    draft: Frame | None = Field(default=None, description="An undone answer to start from")
    intent_confidence: float | None = Field(description="The teacher's; None: not known, which is not low")
    slot_confidence: dict[str, float]
    reasons: tuple[str, ...]
    confidence: Rate = Field(description="The probe's in its own guess")
    in_conflict: bool = Field(description="Others have answered, and differ; what they said isn't told")


class View(Contract):
    """What a reviewer sees."""

    row: ShownRow | None = Field(description="None: nothing waits for this reviewer")
    answered: int = Field(description="Rows that this reviewer labelled or skipped")
    left: int = Field(description="Rows that wait for this reviewer")
    can_undo: bool


class Desk:
    """Serves one domain's queue to any number of reviewers; safe to use from many threads.

    Args:
        overlap: share of the rows that a second reviewer answers too, for agreement; which ones is told by their ids.
        clock: the time, with an offset.
    """

    def __init__(self, review: DomainReview, catalog: TaskCatalog, *, overlap: float, clock: Callable[[], datetime]) -> None:
        self.catalog = catalog
        self._review, self._log, self._overlap, self._clock = review, review.log, overlap, clock
        self._lock = Lock()
        self._rows: Sequence[QueuedRow] = review.rows()

    def view(self, reviewer: str) -> View:
        """The next row. The queue is read anew: a lap may have asked more."""
        with self._lock:
            self._rows = self._review.rows()
            return self._view(reviewer)

    def answer(self, reviewer: str, key: Key, decision: Decision | None, frame: Frame | None) -> View:
        """Write an answer; when this returns, the disk has it.

        Args:
            key: id and text of the row, as the reviewer saw it.

        Raises:
            InputError: there is no such row, or the answer does not hold.
        """
        with self._lock:
            row = next((row for row in self._rows if row.key == key), None)
            if row is None or decision == "withdrawn":
                raise InputError(f"{key[0]!r} is not in the review queue any more: reload the page", field="id")
            self._write(row, reviewer, decision, frame)
            return self._view(reviewer)

    def undo(self, reviewer: str) -> View:
        """Withdraw the reviewer's last answer on the page, and show its row again; the same view where there is none."""
        with self._lock:
            last = self._last(reviewer)
            if last is None:
                return self._view(reviewer)
            row = next(row for row in self._rows if row.key == (last.id, last.text))
            self._write(row, reviewer, "withdrawn", None)
            return self._view(reviewer, again=last)

    def status(self) -> ReviewStatus:
        """The figures of all reviewers."""
        with self._lock:
            return status_of(self._review.domain.name, self._standings())

    def export(self) -> list[ReviewRow]:
        """All rows with what has been answered."""
        with self._lock:
            return sheet(self._standings(), "all")

    def _write(self, row: QueuedRow, reviewer: str, decision: Decision | None, frame: Frame | None) -> None:
        with self._log.writing() as lines:
            # A clock that was set back must not make the new answer the older one.
            before = [line.at for line in lines if line.reviewer == reviewer and (line.id, line.text) == row.key]
            at = max([self._clock(), *before])
            self._log.append(
                [answer_to(row.item, self.catalog, reviewer=reviewer, at=at, via="page", decision=decision, frame=frame)]
            )

    def _standings(self) -> list[Standing]:
        answers = current(self._log.answers())
        return [standing_of(row.item, answers.get(row.key, {})) for row in self._rows]

    def _view(self, reviewer: str, again: ReviewAnswer | None = None) -> View:
        standings = self._standings()
        mine = [row for row in standings if reviewer in row.answers]
        waiting = [row for row in standings if reviewer not in row.answers and self._wanted(row)]
        if again is not None:
            waiting.sort(key=lambda row: row.item.id != again.id)  # stable: the undone row first
        first = waiting[0] if waiting else None
        return View(
            row=_shown(first, again.frame if again else None) if first else None,
            answered=len(mine),
            left=len(waiting),
            can_undo=self._last(reviewer) is not None,
        )

    def _wanted(self, row: Standing) -> bool:
        """Whether one more answer is worth having."""
        return row.state != "settled" or (len(row.labels) == 1 and _drawn(row.item.id) < self._overlap)

    def _last(self, reviewer: str) -> ReviewAnswer | None:
        keys = {row.key for row in self._rows}
        lines = self._log.answers()
        standing = [of_row[reviewer] for key, of_row in current(lines).items() if key in keys and reviewer in of_row]
        order = {id(line): number for number, line in enumerate(lines)}
        return max((line for line in standing if line.via == "page"), key=lambda line: order[id(line)], default=None)


def _shown(row: Standing, draft: Frame | None) -> ShownRow:
    return ShownRow(
        id=row.item.id,
        text=row.item.text,
        suggestion=row.item.suggestion,
        draft=draft,
        intent_confidence=row.item.intent_confidence,
        slot_confidence=row.item.slot_confidence,
        reasons=row.item.reasons,
        confidence=row.item.probe_confidence,
        in_conflict=row.state == "conflict",
    )


def _drawn(row_id: str) -> float:
    """A number in [0, 1) that belongs to the row, the same on every machine."""
    return int.from_bytes(hashlib.sha256(row_id.encode()).digest()[:8], "big") / 2**64
