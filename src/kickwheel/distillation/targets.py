"""From fused signals and the teacher's scores to the probabilities that the student is distilled towards.

``target = (1 - m) * softmax(fused / TAU) + m * teacher`` over the closed set, with m = ``teacher_mix``; without the
teacher the first term alone. The student's own probabilities are no part of it: a student that is pulled towards where
it starts from learns nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kickwheel.distillation.candidates import ClosedSet
from kickwheel.distillation.fusion import FusedCase
from schemas.feedback import CandidateTarget, DistillationRow

TAU = 0.25
"""Sharpness of the signals' distribution. Of three candidates, one that a person stated (fused 1, the others 0) gets 96 %,
one with interest only (0.5) gets 79 %. The distillation temperature softens it further, in the loss."""


def softmax(scores: Sequence[float], tau: float) -> list[float]:
    """Probabilities in proportion to exp(score / tau)."""
    highest = max(scores)
    powers = [math.exp((score - highest) / tau) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def evidence_weight(evidence: int) -> float:
    """Weight of the hard label, 0 to 1: each independent signal halves the doubt that is left."""
    return 1 - 0.5**evidence


def has_support(fused: FusedCase | None) -> bool:
    """Whether the signals move the label: whether enough of them speak for a frame.

    Signals that only speak against the answer say what is wrong, not what is right: in so small a set the probability
    would flow to whatever else stands there, mostly ``out_of_scope``, and teach it.
    """
    return fused is not None and not fused.held_back


def distillation_row(
    candidates: ClosedSet, fused: FusedCase, teacher: Sequence[float] | None, *, teacher_mix: float
) -> DistillationRow:
    """The row of one case: its closed set (2 frames or more) with targets that sum to 1.

    ``teacher`` is one normalised score a frame, None where the teacher abstained.

    Raises:
        ValueError: not one score a frame.
    """
    frames = candidates.frames
    if teacher is not None and len(teacher) != len(frames):
        raise ValueError(f"case {candidates.case!r}: expected {len(frames)} teacher scores, got {len(teacher)}")
    evidence = [fused.fused(frame) for frame in frames]
    targets = softmax(evidence, TAU)
    if teacher is not None:
        targets = [(1 - teacher_mix) * target + teacher_mix * score for target, score in zip(targets, teacher, strict=True)]
    total = sum(targets)
    rows = tuple(
        CandidateTarget(
            frame=frame,
            fused=evidence[index],
            teacher=None if teacher is None else teacher[index],
            target=targets[index] / total,
        )
        for index, frame in enumerate(frames)
    )
    return DistillationRow(case=candidates.case, text=candidates.text, candidates=rows, weight=evidence_weight(fused.evidence))
