"""The chosen rows, sorted into labels that may be learned from and questions for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kickwheel.seeding.checks import failed_checks
from kickwheel.seeding.named_targets import NamedTargets, names_nothing
from kickwheel.seeding.review_queue import NO_TEACHER, ReviewItem
from kickwheel.seeding.self_label import TeacherLabel
from schemas.frame import Prediction
from schemas.task import TaskCatalog
from schemas.utterance import Provenance, Utterance


@dataclass(frozen=True)
class Sorting:
    """Accepted rows, questions, and why the questions are questions: rows by typed error and by failed check.

    ``confidence`` is the probe's in each row, by id.
    """

    accepted: list[Utterance] = field(default_factory=list)
    items: list[ReviewItem] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    confidence: dict[str, float] = field(default_factory=dict)


def sort_labels(
    catalog: TaskCatalog,
    number: int,
    chosen: Sequence[Utterance],
    guesses: Sequence[Prediction],
    labels: Sequence[TeacherLabel],
    named: NamedTargets = names_nothing,
) -> Sorting:
    """Accept a label if it parsed, no rule is broken and the probe's guess is the same; all else is a question.

    Args:
        guesses: the probe's predictions, one a chosen row.
        labels: the teacher's, one a chosen row; empty: there is no teacher.
        named: the domain's data that a text names; a label about others is a question.
    """
    sorting = Sorting()
    for index, (row, guess) in enumerate(zip(chosen, guesses, strict=True)):
        sorting.confidence[row.id] = guess.confidence or 0.0
        label = labels[index] if labels else None
        frame = label.prediction.frame if label else None
        if label is None:
            reasons: tuple[str, ...] = (NO_TEACHER,)
        elif frame is None or guess.frame is None:
            reasons = (label.prediction.error or "empty",)
            sorting.errors.update(reasons)
        else:
            reasons = failed_checks(row.text, frame, catalog, guess.frame, named)
            sorting.failed.update(reasons)
            if not reasons:
                call = label.answer
                source = Provenance(source="teacher", model=call.model, prompt_sha256=call.prompt_sha256, round=number)
                sorting.accepted.append(row.model_copy(update={"frame": frame, "provenance": source}))
                continue
        item = ReviewItem(
            id=row.id,
            text=row.text,
            language=row.language,
            suggestion=frame,
            intent_confidence=label.prediction.intent_confidence if label else None,
            slot_confidence=label.prediction.slot_confidence if label else {},
            reasons=reasons,
            probe_confidence=sorting.confidence[row.id],
            round=number,
        )
        sorting.items.append(item)
    return sorting
