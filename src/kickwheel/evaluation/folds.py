"""Cross-validation of a student that is cheap to fit, for sets too small to spare a split (OpenPipe/OpenPipe 702)."""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

from kickwheel.evaluation.metrics import evaluate
from kickwheel.inference.ports import Student
from schemas.quality import CrossValidation
from schemas.utterance import Utterance

Fit = Callable[[Sequence[Utterance]], Student]


def stratified_folds(rows: Sequence[Utterance], folds: int, seed: int) -> list[list[int]]:
    """Indices of each fold: every intent spread evenly over the folds, rare ones over different ones.

    Raises:
        ValueError: a row has no label.
    """
    by_intent: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        if row.frame is None:
            raise ValueError(f"row {row.id!r} has no label")
        by_intent[row.frame.intent].append(index)
    rng = random.Random(seed)  # noqa: S311 - a reproducible order
    order: list[int] = []
    for intent in sorted(by_intent):
        rng.shuffle(by_intent[intent])
        order += by_intent[intent]
    return [sorted(order[fold::folds]) for fold in range(folds)]


def cross_validate(rows: Sequence[Utterance], fit: Fit, *, student: str, folds: int, seed: int) -> CrossValidation | None:
    """Fit on all folds but one and score on that one, each in turn; None where there are fewer rows than folds, or one fold."""
    if folds < 2 or len(rows) < folds:
        return None
    figures = []
    for fold in stratified_folds(rows, folds, seed):
        held = set(fold)
        fitted = fit([row for index, row in enumerate(rows) if index not in held])
        test = [rows[index] for index in fold]
        found = evaluate(test, fitted.predict([row.text for row in test]), student=student, split="valid")
        figures.append(found.overall)
    intents = [one.intent_accuracy for one in figures]
    joints = [one.joint_frame_accuracy for one in figures]
    return CrossValidation(
        student=student,
        folds=folds,
        rows=len(rows),
        intent_accuracy=statistics.fmean(intents),
        intent_deviation=statistics.stdev(intents),
        slot_f1=statistics.fmean(one.slot_f1 for one in figures),
        joint_frame_accuracy=statistics.fmean(joints),
        joint_deviation=statistics.stdev(joints),
    )
