"""Whether labels that nobody looked at are as right as they must be: a share of them is put to people all the same.

The share is drawn at random, apart for hard rows and easy ones, since agreement is cheap on easy rows. Where people's answers
say that fewer labels than wanted are right, self-acceptance of that kind of rows stops: their labels go to people, from this
round on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import get_args

import numpy as np

from kickwheel.seeding.review_queue import ReviewItem
from kickwheel.seeding.sorting import Sorting
from kickwheel.settings import SeedingSettings
from schemas.seed_checks import AuditFigure, RowKind
from schemas.utterance import Utterance

AUDIT = "audit"
STOPPED = "self_acceptance_stopped"


@dataclass(frozen=True)
class Acceptance:
    """What becomes of a round's accepted labels.

    Args:
        accepted: labels that stand; a person has not (yet) said otherwise.
        audit: questions about labels drawn for the audit, answered or not.
        held: questions about labels that may not be accepted any more.
        figures: of this round, a kind of rows each.
    """

    accepted: list[Utterance]
    audit: list[ReviewItem]
    held: list[ReviewItem]
    figures: tuple[AuditFigure, ...]


def audit_acceptance(
    sorting: Sorting,
    number: int,
    answers: Mapping[str, Utterance],
    earlier: Sequence[AuditFigure],
    settings: SeedingSettings,
    rng: np.random.Generator,
) -> Acceptance:
    """Draw the audit of round ``number``, read the answers that are there, and stop what is not right enough.

    Args:
        answers: people's labelled rows by id.
        earlier: figures of the rounds before.
    """
    outcome = Acceptance([], [], [], ())
    figures = []
    kinds = _kinds(sorting)
    for kind in get_args(RowKind):
        rows = [row for row in sorting.accepted if kinds[row.id] == kind]
        drawn = _drawn(rows, settings.accept_audit, rng)
        answered = {row.id: answers[row.id].frame for row in drawn if row.id in answers and answers[row.id].frame}
        figure = AuditFigure(
            rows=kind,
            accepted=len(rows),
            checked=len(answered),
            right=sum(row.frame == answered[row.id] for row in drawn if row.id in answered),
        )
        figures.append(figure)
        outcome.audit.extend(_question(sorting, row, number, AUDIT) for row in drawn)
        left = [row for row in rows if row.id not in answered]
        if is_stopped([*earlier, *figures], kind, settings):
            asked = {row.id for row in drawn}
            outcome.held.extend(_question(sorting, row, number, STOPPED) for row in left if row.id not in asked)
        else:
            outcome.accepted.extend(left)
    return Acceptance(outcome.accepted, outcome.audit, outcome.held, tuple(figures))


def is_stopped(figures: Sequence[AuditFigure], kind: RowKind, settings: SeedingSettings) -> bool:
    """Whether enough labels of this kind were checked, and too few of them are right."""
    total = summed(figures, kind)
    return total.precision is not None and total.checked >= settings.min_audited and total.precision < settings.min_precision


def summed(figures: Sequence[AuditFigure], kind: RowKind) -> AuditFigure:
    """Figures of one kind over all rounds."""
    own = [figure for figure in figures if figure.rows == kind]
    return AuditFigure(
        rows=kind,
        accepted=sum(figure.accepted for figure in own),
        checked=sum(figure.checked for figure in own),
        right=sum(figure.right for figure in own),
    )


def _kinds(sorting: Sorting) -> Mapping[str, RowKind]:
    middle = median(sorting.confidence.values()) if sorting.confidence else 0.0
    return {row: "hard" if confidence < middle else "easy" for row, confidence in sorting.confidence.items()}


def _drawn(rows: Sequence[Utterance], share: float, rng: np.random.Generator) -> list[Utterance]:
    """At least one where there is anything to draw from."""
    places = rng.choice(len(rows), size=math.ceil(share * len(rows)), replace=False) if rows else ()
    return [rows[place] for place in sorted(places)]


def _question(sorting: Sorting, row: Utterance, number: int, reason: str) -> ReviewItem:
    return ReviewItem(
        id=row.id,
        text=row.text,
        language=row.language,
        suggestion=row.frame,
        reasons=(reason,),
        probe_confidence=sorting.confidence[row.id],
        round=number,
    )
