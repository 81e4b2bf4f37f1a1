"""The tuned student beside its baselines, on the rows that nothing is chosen on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kickwheel.evaluation import evaluate, fit_calibration, mcnemar
from kickwheel.inference.ports import Student
from kickwheel.workspace import write_atomically
from schemas.calibration import Calibration
from schemas.frame import Frame, Prediction
from schemas.quality import CrossValidation, Evaluation, PairedTest
from schemas.utterance import Utterance

CALIBRATION_FILE = "calibration.json"
"""Of an artifact: how far its confidence may be believed."""


@dataclass(frozen=True)
class Baseline:
    """A student to compare with, and on how many rows (0: on all)."""

    student: Student
    sample: int = 0
    evaluated_with: str = ""
    """Empty: with what the tuned student is."""


@dataclass(frozen=True)
class Assessment:
    """Every student on the same rows; the first is the tuned one, and is tested against each of the others."""

    evaluations: tuple[Evaluation, ...]
    tests: dict[str, PairedTest]
    """By name of the other student: wins are rows that only the tuned one got right."""
    calibration: Calibration | None = None
    valid_answers: Mapping[str, Prediction] = field(default_factory=dict, repr=False)
    """The tuned student's answers on valid, by text: the gate need not ask again."""
    cross_validation: tuple[CrossValidation, ...] = ()


def assess(
    rows: Sequence[Utterance],
    tuned: Student,
    baselines: Sequence[Student | Baseline],
    *,
    evaluated_with: str,
    calibration: Calibration | None = None,
    free_text_slots: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Assessment:
    """Ask every student about every row of ``eval``, or about a sample that is drawn by ``seed`` and said to be one."""
    others = [item if isinstance(item, Baseline) else Baseline(item) for item in baselines]
    every = [Baseline(tuned), *others]
    evaluations, tests = [], {}
    own: dict[int, Prediction] = {}
    for done, item in enumerate(every, start=1):
        places = sampled(rows, item.sample, seed)
        asked = [rows[place] for place in places]
        answers = item.student.predict([row.text for row in asked])
        with_what = "scikit-learn in this process" if item.student.name == "probe" else evaluated_with
        evaluations.append(
            evaluate(
                asked,
                answers,
                student=item.student.name,
                split="eval",
                evaluated_with=item.evaluated_with or with_what,
                sample_of=len(rows) if len(asked) < len(rows) else None,
                calibration=calibration if item.student is tuned else None,
                free_text_slots=free_text_slots,
            )
        )
        if item.student is tuned:
            own = dict(zip(places, answers, strict=True))
        else:
            tests[item.student.name] = mcnemar(asked, [own[place] for place in places], answers)
        if progress is not None:
            progress(done, len(every))
    return Assessment(tuple(evaluations), tests, calibration)


def calibrate(
    rows: Sequence[Utterance], tuned: Student, *, target_accuracy: float, sha256: str | None = None
) -> tuple[Calibration | None, dict[str, Prediction]]:
    """Ask the tuned student about ``valid`` and fit its calibration there; with it, the answers by text."""
    answers = tuned.predict([row.text for row in rows])
    gold = [row.frame or Frame(intent="unlabelled") for row in rows]
    calibration = fit_calibration(
        gold, answers, student=tuned.name, target_accuracy=target_accuracy, fitted_on="valid", fitted_sha256=sha256
    )
    return calibration, {row.text: answer for row, answer in zip(rows, answers, strict=True)}


def write_calibration(calibration: Calibration | None, folder: Path) -> None:
    """``calibration.json`` beside the weights, where whatever serves them finds it; none where no confidence is known."""
    path = folder / CALIBRATION_FILE
    if calibration is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, calibration.model_dump_json(indent=1) + "\n")


def sampled(rows: Sequence[Utterance], count: int, seed: int) -> list[int]:
    """Indices of a sample in order, every intent in proportion (largest remainders are not chased: intents take turns).

    All of them where ``count`` is 0 or as large.
    """
    if not 0 < count < len(rows):
        return list(range(len(rows)))
    rng = random.Random(seed)  # noqa: S311 - a reproducible sample
    by_intent: dict[str, list[int]] = {}
    for index in rng.sample(range(len(rows)), len(rows)):
        frame = rows[index].frame
        by_intent.setdefault(frame.intent if frame else "", []).append(index)
    # A row's place within its intent, as a share: the first of every intent come before the second of any.
    order = [
        ((place + 0.5) / len(indices), intent, index)
        for intent, indices in by_intent.items()
        for place, index in enumerate(indices)
    ]
    return sorted(index for _, _, index in sorted(order)[:count])
