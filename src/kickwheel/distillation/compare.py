"""Champion and challenger on the same rows of ``valid``: what the gate decides on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kickwheel.distillation.gate import judge
from kickwheel.evaluation import evaluate, mcnemar
from kickwheel.evaluation.calibration_error import expected_calibration_error
from kickwheel.evaluation.intent_change import intent_changes
from kickwheel.inference.ports import Student
from kickwheel.settings import DistillationSettings
from schemas.frame import Prediction
from schemas.trial import TrialVerdict
from schemas.tuning import GateCheck, GateVerdict
from schemas.utterance import Utterance

LEAST_SECONDS = 0.5
"""Below this, a student's time for all rows is the machine's noise and no ground for a decision."""

LEAST_CONFIDENCES = 50
"""Known confidences below which a calibration error is mostly chance."""


@dataclass(frozen=True)
class Weights:
    """Bytes of the weights that each takes beside the base."""

    champion: int
    challenger: int


def compare(
    champion: Student | None,
    challenger: Student,
    valid: Sequence[Utterance],
    settings: DistillationSettings,
    *,
    evaluated_with: str,
    base: Student | None = None,
    weights: Weights | None = None,
    trial: TrialVerdict | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> GateVerdict:
    """Ask all about every row of ``valid`` and let the gate judge. ``champion`` None: there is none yet."""
    texts = [row.text for row in valid]

    def asked(student: Student) -> tuple[list[Prediction], float]:
        begun = clock()
        return student.predict(texts), clock() - begun

    new, seconds = asked(challenger)
    challenged = evaluate(valid, new, student="challenger", split="valid", evaluated_with=evaluated_with)
    plain = base.predict(texts) if base else None
    of_base = evaluate(valid, plain, student="base", split="valid", evaluated_with=evaluated_with) if plain else None
    against_base = mcnemar(valid, new, plain) if plain else None
    if champion is None:
        return judge(None, challenged, None, settings, base=of_base, against_base=against_base, trial=trial)
    old, before = asked(champion)
    held = evaluate(valid, old, student="champion", split="valid", evaluated_with=evaluated_with)
    return judge(
        held,
        challenged,
        mcnemar(valid, new, old),
        settings,
        changes=intent_changes(valid, old, new),
        checks=_checks(valid, old, new, before, seconds, weights, settings),
        trial=trial,
        base=of_base,
        against_base=against_base,
    )


def _checks(
    valid: Sequence[Utterance],
    old: Sequence[Prediction],
    new: Sequence[Prediction],
    before: float,
    seconds: float,
    weights: Weights | None,
    settings: DistillationSettings,
) -> list[GateCheck]:
    """What could be measured: students need not know their confidence, and small sets take no time."""
    found = []
    errors = [_calibration_error(valid, answers) for answers in (old, new)]
    if errors[0] is not None and errors[1] is not None:
        limit = errors[0] + settings.max_ece_rise
        found.append(
            GateCheck(
                name="calibration",
                champion=errors[0],
                challenger=errors[1],
                limit=limit,
                unit="expected calibration error of the raw confidence",
            )
        )
    if before >= LEAST_SECONDS:
        limit = before * (1 + settings.max_time_rise)
        found.append(GateCheck(name="latency", champion=before, challenger=seconds, limit=limit, unit="seconds for valid"))
    if weights is not None:
        limit = weights.champion * (1 + settings.max_size_rise)
        found.append(
            GateCheck(
                name="memory",
                champion=weights.champion,
                challenger=weights.challenger,
                limit=limit,
                unit="bytes of weights beside the base",
            )
        )
    return found


def _calibration_error(valid: Sequence[Utterance], answers: Sequence[Prediction]) -> float | None:
    """Of the confidences that are known; None where they are too few."""
    known = [
        (answer.confidence, answer.frame == row.frame)
        for row, answer in zip(valid, answers, strict=True)
        if answer.confidence is not None
    ]
    if len(known) < LEAST_CONFIDENCES:
        return None
    sure, right = zip(*known, strict=True)
    return expected_calibration_error(list(sure), list(right))
