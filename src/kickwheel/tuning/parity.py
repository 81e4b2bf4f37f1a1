"""The same prompts through every way of running an adapter; what differs by more than rounding is not registered.

vLLM may answer unlike transformers with PEFT, or as if there were no adapter (vllm-project/vllm 10798, 22884), and merged
weights may be worse than the adapter (huggingface/peft 1836).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from kickwheel.inference.ports import Student
from schemas.frame import Prediction
from schemas.parity import ParityArm, ParityDifference, ParityReport

_SHOWN = 5
_SHOWN_CODE_POINTS = 300


def parity_texts(texts: Sequence[str], count: int, seed: int) -> list[str]:
    """``count`` different texts, drawn from the shorter half: parity is of frames, and long prompts only cost time."""
    distinct = sorted(set(texts), key=lambda text: (len(text), text))
    short = distinct[: max(count, len(distinct) // 2)]
    return random.Random(seed).sample(short, min(count, len(short)))  # noqa: S311 - a reproducible choice


def check_parity(
    texts: Sequence[str], reference: Student, others: Sequence[tuple[str, Student, str]], *, tolerance: float
) -> ParityReport:
    """Compare parsed frames with those of ``reference`` (transformers with PEFT).

    Args:
        others: name, student, and what it is run with.
        tolerance: share of the prompts that may differ in each.
    """
    expected = reference.predict(texts)
    arms = []
    for name, student, run_with in others:
        got = student.predict(texts)
        unlike = [
            ParityDifference(text=text, expected=_told(one), got=_told(other))
            for text, one, other in zip(texts, expected, got, strict=True)
            if one.frame != other.frame
        ]
        agreement = 1 - len(unlike) / len(texts) if texts else 1.0
        arms.append(ParityArm(name=name, run_with=run_with, agreement=agreement, differences=tuple(unlike[:_SHOWN])))
    return ParityReport(
        prompts=len(texts),
        readable=sum(one.frame is not None for one in expected),
        tolerance=tolerance,
        arms=tuple(arms),
    )


def _told(prediction: Prediction) -> str:
    return (prediction.raw or f"({prediction.error})")[:_SHOWN_CODE_POINTS]
