"""The figures of one student on one set of gold rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

from sklearn.metrics import precision_recall_fscore_support

from kickwheel.evaluation.calibration import calibration_quality
from kickwheel.evaluation.free_text import free_text_quality
from kickwheel.evaluation.significance import wilson
from schemas.calibration import Calibration
from schemas.frame import Frame, Prediction
from schemas.quality import Evaluation, IntentScore, QualityMetrics
from schemas.utterance import Utterance

UNPARSABLE = "unparsable"
"""What stands for the intent of a reply that is no frame."""

Pair = tuple[Frame, Prediction]


def evaluate(
    gold: Sequence[Utterance],
    predictions: Sequence[Prediction],
    *,
    student: str,
    split: Literal["valid", "eval", "replay"],
    evaluated_with: str = "",
    sample_of: int | None = None,
    calibration: Calibration | None = None,
    free_text_slots: Sequence[str] = (),
) -> Evaluation:
    """Score predictions against labelled rows, in order. A reply that is no frame is wrong everywhere.

    Args:
        sample_of: rows of the split, where ``gold`` is a sample of it.
        calibration: fitted on other rows; how it holds on these is said.
        free_text_slots: slots for which BLEU and ROUGE-L are said too.

    Raises:
        ValueError: not one prediction a row, or a row without a label.
    """
    pairs: list[Pair] = []
    languages: dict[str, list[Pair]] = defaultdict(list)
    for row, prediction in zip(gold, predictions, strict=True):
        if row.frame is None:
            raise ValueError(f"row {row.id!r} has no label to score against")
        pairs.append((row.frame, prediction))
        languages[row.language].append((row.frame, prediction))
    frames = [frame for frame, _ in pairs]
    unread = Counter(prediction.error or "unknown" for prediction in predictions if not prediction.frame)
    return Evaluation(
        student=student,
        split=split,
        overall=quality(pairs),
        by_language={language: quality(languages[language]) for language in sorted(languages)},
        per_intent=_per_intent(pairs),
        confusion=_confusion(pairs),
        evaluated_with=evaluated_with,
        sample_of=sample_of,
        errors=dict(sorted(unread.items())),
        calibration=calibration_quality(frames, predictions, calibration) if calibration else None,
        free_text=free_text_quality(frames, predictions, free_text_slots) if free_text_slots else None,
    )


def quality(pairs: Sequence[Pair]) -> QualityMetrics:
    """Figures over gold frames and predictions; all shares are 0 where there are no rows."""
    rows = len(pairs)
    intents = sum(_intent(prediction) == gold.intent for gold, prediction in pairs)
    joint = sum(prediction.frame == gold for gold, prediction in pairs)
    unparsable = sum(prediction.frame is None for _, prediction in pairs)
    precision, recall, f1 = _slots(pairs)
    scores = _per_intent(pairs)
    return QualityMetrics(
        rows=rows,
        intent_accuracy=_share(intents, rows),
        macro_f1=sum(score.f1 for score in scores) / len(scores) if scores else 0.0,
        slot_precision=precision,
        slot_recall=recall,
        slot_f1=f1,
        joint_frame_accuracy=_share(joint, rows),
        unparsable_rate=_share(unparsable, rows),
        joint_interval=wilson(joint, rows),
    )


def _intent(prediction: Prediction) -> str:
    return prediction.frame.intent if prediction.frame else UNPARSABLE


def _slots(pairs: Sequence[Pair]) -> tuple[float, float, float]:
    """Micro precision, recall and F1 over exact (name, start, end) spans; 1 where there is none to find and none found."""
    right = wanted = given = 0
    for gold, prediction in pairs:
        true = {(slot.name, slot.start, slot.end) for slot in gold.slots}
        seen = {(slot.name, slot.start, slot.end) for slot in prediction.frame.slots} if prediction.frame else set()
        right, wanted, given = right + len(true & seen), wanted + len(true), given + len(seen)
    if wanted == given == 0:
        return 1.0, 1.0, 1.0
    return _share(right, given), _share(right, wanted), 2 * right / (wanted + given)


def _per_intent(pairs: Sequence[Pair]) -> tuple[IntentScore, ...]:
    """Precision, recall and F1 of each intent that the gold rows have."""
    if not pairs:
        return ()
    gold = [frame.intent for frame, _ in pairs]
    labels = sorted(set(gold))
    predicted = [_intent(prediction) for _, prediction in pairs]
    columns = precision_recall_fscore_support(gold, predicted, labels=labels, zero_division=0.0)
    said, right = Counter(predicted), Counter(a for a, b in zip(gold, predicted, strict=True) if a == b)
    return tuple(
        IntentScore(
            intent=label,
            rows=int(rows),
            precision=float(p),
            recall=float(r),
            f1=float(f),
            precision_interval=wilson(right[label], said[label]),
            recall_interval=wilson(right[label], int(rows)),
        )
        for label, p, r, f, rows in zip(labels, *columns, strict=True)
    )


def _confusion(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for gold, prediction in pairs:
        counts[gold.intent][_intent(prediction)] += 1
    return {gold: dict(sorted(counts[gold].items())) for gold in sorted(counts)}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
