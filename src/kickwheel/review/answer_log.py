"""Every answer of every reviewer, append-only: nothing is overwritten, an undone answer is a line more.

Two processes may write at once (the page and an import): each append holds a lock beside the file.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.workspace import append_durably, read_log
from schemas.review import ReviewAnswer

Key = tuple[str, str]
"""Id and text of a row: an answer to another text under the same id is an answer to another row."""


class AnswerLog:
    """The log of one domain."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise InputError("the log of answers is a file, this is a folder", file=path)
        self.path = path
        self._lines: list[ReviewAnswer] = []
        self._size = 0

    def answers(self) -> list[ReviewAnswer]:
        """All lines, in the order in which they were written. The file only grows: the same size is the same content."""
        size = self._size_on_disk()
        if size != self._size:
            self._lines, self._size = read_log(self.path, ReviewAnswer), size
        return list(self._lines)

    @contextmanager
    def writing(self) -> Iterator[list[ReviewAnswer]]:
        """Hold off every other writer; yields what the log holds. :meth:`append` belongs in here."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.answers()

    def append(self, answers: Sequence[ReviewAnswer]) -> None:
        """Write answers; when this returns, the disk has them."""
        append_durably(self.path, answers)
        self._lines += answers
        self._size = self._size_on_disk()

    def _size_on_disk(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0


def current(answers: Iterable[ReviewAnswer]) -> dict[Key, dict[str, ReviewAnswer]]:
    """What counts: by row and reviewer the latest answer; withdrawn ones are left out.

    The latest is the one with the latest time, among equals the one written last, so that merging two logs in any order
    gives the same.
    """
    latest: dict[Key, dict[str, ReviewAnswer]] = {}
    for answer in answers:
        of_row = latest.setdefault((answer.id, answer.text), {})
        if answer.reviewer not in of_row or of_row[answer.reviewer].at <= answer.at:
            of_row[answer.reviewer] = answer
    return {key: _without_withdrawn(of_row) for key, of_row in latest.items()}


def _without_withdrawn(of_row: Mapping[str, ReviewAnswer]) -> dict[str, ReviewAnswer]:
    return {name: answer for name, answer in of_row.items() if answer.decision != "withdrawn"}
