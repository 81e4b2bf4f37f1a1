"""Champion and challenger on the same rows of ``valid``: what the gate decides on."""

from __future__ import annotations

from collections.abc import Sequence

from kickwheel.distillation.gate import judge
from kickwheel.evaluation import evaluate, mcnemar
from kickwheel.inference.ports import Student
from kickwheel.settings import DistillationSettings
from schemas.tuning import GateVerdict
from schemas.utterance import Utterance


def compare(
    champion: Student | None,
    challenger: Student,
    valid: Sequence[Utterance],
    settings: DistillationSettings,
    *,
    evaluated_with: str,
) -> GateVerdict:
    """Ask both about every row of ``valid`` and let the gate judge. ``champion`` None: there is none yet."""
    texts = [row.text for row in valid]
    new = challenger.predict(texts)
    challenged = evaluate(valid, new, student="challenger", split="valid", evaluated_with=evaluated_with)
    if champion is None:
        return judge(None, challenged, None, settings)
    old = champion.predict(texts)
    held = evaluate(valid, old, student="champion", split="valid", evaluated_with=evaluated_with)
    return judge(held, challenged, mcnemar(valid, new, old), settings)
