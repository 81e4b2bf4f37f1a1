"""Where a row stands: open, settled by its reviewers, or in conflict; and the figures of all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kickwheel.review.agreement import krippendorff_alpha, pair_agreements
from kickwheel.seeding.review_queue import ReviewItem
from schemas.frame import Frame
from schemas.review import Conflict, ReviewAnswer, ReviewerTally, ReviewStatus
from schemas.utterance import Provenance, Utterance

State = Literal["open", "settled", "conflict"]


@dataclass(frozen=True)
class Standing:
    """A row with the answers that count.

    Args:
        answers: by reviewer; skips are among them.
        frame: the label that settles the row; None: it isn't settled.
    """

    item: ReviewItem
    answers: Mapping[str, ReviewAnswer]
    state: State
    frame: Frame | None

    @property
    def labels(self) -> dict[str, ReviewAnswer]:
        """Answers with a label, by reviewer."""
        return {name: answer for name, answer in self.answers.items() if answer.frame is not None}

    @property
    def skipped(self) -> bool:
        """Whether somebody left it to others."""
        return len(self.labels) < len(self.answers)


def standing_of(item: ReviewItem, answers: Mapping[str, ReviewAnswer]) -> Standing:
    """A row is settled by the label that more than half of those who labelled it gave; without one, they are in conflict."""
    votes = Counter(answer.frame for answer in answers.values() if answer.frame is not None)
    if not votes:
        return Standing(item, answers, "open", None)
    frame, most = votes.most_common(1)[0]
    settled = 2 * most > votes.total()
    return Standing(item, answers, "settled" if settled else "conflict", frame if settled else None)


def settled_rows(standings: Sequence[Standing]) -> list[Utterance]:
    """The rows that people have settled, labelled."""
    return [
        Utterance(
            id=row.item.id,
            text=row.item.text,
            language=row.item.language,
            frame=row.frame,
            provenance=Provenance(source="reviewer", round=row.item.round),
        )
        for row in standings
        if row.frame is not None
    ]


def status_of(domain: str, standings: Sequence[Standing]) -> ReviewStatus:
    """The figures of all rows."""
    labels = [{name: answer.frame for name, answer in row.labels.items() if answer.frame} for row in standings]
    intents = [{name: frame.intent for name, frame in of_row.items()} for of_row in labels]
    names = sorted({name for row in standings for name in row.answers})
    states = Counter(row.state for row in standings)
    return ReviewStatus(
        domain=domain,
        rows=len(standings),
        settled=states["settled"],
        open=states["open"],
        skipped=sum(row.state == "open" and row.skipped for row in standings),
        conflicts=tuple(
            Conflict(id=row.item.id, text=row.item.text, answers=tuple(row.labels.values()))
            for row in standings
            if row.state == "conflict"
        ),
        reviewers=tuple(_tally(name, standings) for name in names),
        pairs=tuple(pair_agreements(labels)),
        alpha=krippendorff_alpha([tuple(of_row.values()) for of_row in intents]),
    )


def _tally(name: str, standings: Sequence[Standing]) -> ReviewerTally:
    decisions = Counter(row.answers[name].decision for row in standings if name in row.answers)
    return ReviewerTally(
        name=name,
        answered=decisions["accepted"] + decisions["labelled"],
        accepted=decisions["accepted"],
        skipped=decisions["skipped"],
    )
