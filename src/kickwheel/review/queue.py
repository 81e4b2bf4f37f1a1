"""The rows of a domain that wait for people: what any of its laps has asked, in the order in which it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kickwheel.domain import Domain
from kickwheel.errors import StageInputMissing
from kickwheel.feedback.bad_case_rows import bad_case_questions
from kickwheel.review.answer_log import AnswerLog, Key, current
from kickwheel.review.standing import Standing, standing_of
from kickwheel.seeding.acceptance import AUDIT
from kickwheel.seeding.review_queue import ReviewItem, ReviewQueue
from kickwheel.workspace import Lap, laps_of, read_jsonl
from schemas.seeding import SeedSet
from schemas.task import TaskCatalog
from schemas.utterance import Utterance

BETWEEN_LAPS = 0
"""Number of no lap: questions about answers that went wrong in service, which every lap finds answered or not."""


@dataclass(frozen=True)
class QueuedRow:
    """A question, and the first lap that asked it; 0: live traffic did."""

    item: ReviewItem
    lap: int

    @property
    def key(self) -> Key:
        """Id and text."""
        return self.item.id, self.item.text


@dataclass(frozen=True)
class DomainReview:
    """A domain's queue and answers, read anew at each call: laps and other reviewers go on meanwhile.

    Args:
        home: where laps lie (``settings.home``).
    """

    domain: Domain
    home: Path

    @property
    def log(self) -> AnswerLog:
        """The domain's answers, whatever the lap."""
        return AnswerLog(answers_file(self.home, self.domain.name))

    @property
    def catalog(self) -> TaskCatalog:
        """Intents and slots that answers may name: those of the newest lap.

        Raises:
            StageInputMissing: no lap has read the documents.
        """
        for lap in reversed(self._laps()):
            if lap.has("intent"):
                return lap.load("intent", TaskCatalog)
        raise StageInputMissing(
            f"{self.domain.name} has nothing to review: run a lap first "
            f"(kickwheel run {self.domain.folder} --stages intent,seeding)"
        )

    def rows(self) -> list[QueuedRow]:
        """Questions that people have to settle: a row that was asked twice stands where it stood first, as it was asked last.

        Left out are rows that the domain's own review file answers, and those whose label was accepted from the teacher
        in a later lap, unless it is that label which is to be checked.
        """
        elsewhere = {(row.id, row.text) for row in self.domain.rows("review") if row.frame}
        found: dict[Key, QueuedRow] = {}
        for lap, item in self._items():
            row = QueuedRow(item, lap)
            if row.key in found:
                row = QueuedRow(item, found[row.key].lap)
            found[row.key] = row
        by_id = {row.item.id: row.key for row in found.values()}  # a text that was changed since is not asked about
        accepted = self._accepted()
        return [
            row
            for key, row in found.items()
            if by_id[key[0]] == key and key not in elsewhere and (key not in accepted or AUDIT in row.item.reasons)
        ]

    def standings(self) -> list[Standing]:
        """Where each row of the queue stands, in its order."""
        answers = current(self.log.answers())
        return [standing_of(row.item, answers.get(row.key, {})) for row in self.rows()]

    def _laps(self) -> list[Lap]:
        return laps_of(self.home, self.domain.name)

    def _items(self) -> Iterator[tuple[int, ReviewItem]]:
        for item in bad_case_questions(self.home, self.domain.name):
            yield BETWEEN_LAPS, item
        for lap in self._laps():
            logs = (lap.folder / "seeding").glob("*/review_items.jsonl")
            for path in sorted(logs, key=lambda path: path.stat().st_mtime_ns):
                for item in ReviewQueue(path).items():
                    yield lap.number, item

    def _accepted(self) -> set[Key]:
        last = next((lap for lap in reversed(self._laps()) if lap.has("seeding")), None)
        if last is None:
            return set()
        train = Path(last.load("seeding", SeedSet).train.path)
        rows = read_jsonl(train, Utterance) if train.is_file() else []
        return {(row.id, row.text) for row in rows if row.provenance and row.provenance.source == "teacher"}


def answers_file(home: Path, domain: str) -> Path:
    """Where a domain's answers are kept."""
    return home / domain / "review_answers.jsonl"
