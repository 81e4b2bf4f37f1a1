"""The tuned student beside its baselines, on the rows that nothing is chosen on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kickwheel.evaluation import evaluate, mcnemar
from kickwheel.inference.ports import Student
from schemas.quality import Evaluation, PairedTest
from schemas.utterance import Utterance


@dataclass(frozen=True)
class Assessment:
    """Every student on the same rows; the first is the tuned one, and is tested against each of the others."""

    evaluations: tuple[Evaluation, ...]
    tests: dict[str, PairedTest]
    """By name of the other student: wins are rows that only the tuned one got right."""


def assess(
    rows: Sequence[Utterance],
    tuned: Student,
    baselines: Sequence[Student],
    *,
    evaluated_with: str,
    progress: Callable[[int, int], None] | None = None,
) -> Assessment:
    """Ask every student about every row of ``eval``."""
    texts = [row.text for row in rows]
    students = [tuned, *baselines]
    answers = []
    for done, student in enumerate(students, start=1):
        answers.append(student.predict(texts))
        if progress is not None:
            progress(done, len(students))
    evaluations = tuple(
        evaluate(
            rows,
            predictions,
            student=student.name,
            split="eval",
            evaluated_with="scikit-learn in this process" if student.name == "probe" else evaluated_with,
        )
        for student, predictions in zip(students, answers, strict=True)
    )
    tests = {
        student.name: mcnemar(rows, answers[0], predictions)
        for student, predictions in zip(baselines, answers[1:], strict=True)
    }
    return Assessment(evaluations, tests)
