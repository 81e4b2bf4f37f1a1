"""One round of acquisition and labelling: score the pool, choose, ask the teacher, check, accept or hand to a person.

A round is written down when it is done; killed before that, it is run again and the label log spares every call that was
answered. Rounds of one folder belong to one set of inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kickwheel.embedding import Embedder
from kickwheel.errors import StageInputMissing
from kickwheel.evaluation import evaluate
from kickwheel.inference.ports import ChatClient
from kickwheel.probe import Probe
from kickwheel.seeding.acceptance import audit_acceptance
from kickwheel.seeding.acquisition import select
from kickwheel.seeding.label_log import LabelLog
from kickwheel.seeding.named_targets import NamedTargets, names_nothing
from kickwheel.seeding.probed_pool import IntentScorer, probed_pool
from kickwheel.seeding.review_queue import ReviewItem, ReviewQueue, settle
from kickwheel.seeding.self_label import SelfLabeller, TeacherLabel
from kickwheel.seeding.sorting import sort_labels
from kickwheel.seeding.synthesis.synthetic_rows import read_synthetic
from kickwheel.seeding.teacher_prompt import FactsAbout, TeacherPrompt, no_facts
from kickwheel.settings import SeedingSettings
from kickwheel.workspace import write_atomically
from schemas.base import Contract
from schemas.seeding import SeedingRound
from schemas.task import TaskCatalog
from schemas.utterance import Utterance

Progress = Callable[[int, int], None]
_AUDIT_STREAM = 1
"""Keeps the draw of the audit apart from that of the rows."""


@dataclass(frozen=True)
class SeedingInputs:
    """What all rounds of a lap share.

    Args:
        seeds: labelled rows to start from.
        answers: a reviewer's labelled rows by id, as far as there are any.
        reviewer: who gave the answers; empty: the bundled file, if there are any.
        folder: where the rounds are written; one folder, one set of inputs.
        label_log: log of teacher calls; may be shared by all laps of a domain.
        embedder: for the strategy that compares rows.
        facts_about: facts of the domain for the teacher's prompt.
        named: the domain's data that a text names, to hold labels against.
        student: makes the served student's scorer, given the probe for texts that the student cannot score; None: the probe
            scores all.
    """

    catalog: TaskCatalog
    seeds: Sequence[Utterance]
    pool: Sequence[Utterance]
    valid: Sequence[Utterance]
    answers: Mapping[str, Utterance]
    folder: Path
    label_log: Path
    settings: SeedingSettings
    seed: int
    embedder: Embedder | None = None
    facts_about: FactsAbout = no_facts
    named: NamedTargets = names_nothing
    reviewer: str = ""
    student: Callable[[Probe], IntentScorer] | None = None


class RoundOutcome(Contract):
    """What a round leaves on disk."""

    report: SeedingRound
    accepted: tuple[Utterance, ...]
    reviewed: tuple[Utterance, ...]
    waiting: tuple[ReviewItem, ...]
    audits: tuple[ReviewItem, ...] = ()
    """Accepted labels that a person is asked to check and has not checked yet."""
    parsed: int
    agreed: int

    @property
    def labelled(self) -> tuple[Utterance, ...]:
        """The round's new labelled rows."""
        return (*self.accepted, *self.reviewed)


def run_round(
    inputs: SeedingInputs,
    number: int,
    teacher: ChatClient | None,
    *,
    max_concurrency: int = 16,
    sleep: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> RoundOutcome:
    """Run round ``number`` (from 1), or read what it left if it is done. No teacher: what is chosen goes to review.

    Raises:
        StageInputMissing: an earlier round is not done.
        StageFailed: there is no labelled row at all, or nobody answers at the teacher's endpoint.
        InputError: a reviewer's answer belongs to another text.
    """
    done = _read_outcome(inputs.folder, number)
    if done is not None:
        return done
    start = start_round(inputs, number)
    before, labelled, pool, probe, chosen = start.before, start.labelled, start.pool, start.probe, start.chosen
    guesses = probe.predict([row.text for row in chosen])
    labels = _ask(inputs, teacher, labelled, chosen, max_concurrency, sleep, progress)
    sorting = sort_labels(inputs.catalog, number, chosen, guesses, labels, inputs.named)
    acceptance = audit_acceptance(
        sorting,
        number,
        inputs.answers,
        [figure for outcome in before for figure in outcome.report.audit],
        inputs.settings,
        np.random.default_rng([inputs.seed, number, _AUDIT_STREAM]),
    )
    questions = [*sorting.items, *acceptance.held]
    ReviewQueue(inputs.folder / "review_items.jsonl").add([*questions, *acceptance.audit])
    answered, waiting = settle(questions, inputs.answers)
    audited, audits = settle(acceptance.audit, inputs.answers)

    reviewed = [*answered, *audited]
    new = [*acceptance.accepted, *reviewed]
    calls = [call for label in labels for call in label.calls]
    report = SeedingRound(
        number=number,
        scored=len(pool),
        selected=len(chosen),
        accepted_from_teacher=len(acceptance.accepted),
        reviewed=len(reviewed),
        waiting=len(waiting),
        audit=acceptance.figures,
        held_back=len(acceptance.held),
        teacher_errors=dict(sorted(sorting.errors.items())),
        checks_failed=dict(sorted(sorting.failed.items())),
        teacher_calls=len(calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        probe=evaluate(
            inputs.valid,
            (fit_probe(inputs, [*labelled, *new]) if new else probe).predict([row.text for row in inputs.valid]),
            student="probe",
            split="valid",
        ).overall,
    )
    outcome = RoundOutcome(
        report=report,
        accepted=tuple(acceptance.accepted),
        reviewed=tuple(reviewed),
        waiting=tuple(waiting),
        audits=tuple(audits),
        parsed=sum(label.prediction.frame is not None for label in labels),
        agreed=sum(
            label.prediction.frame is not None and label.prediction.frame == guess.frame
            for label, guess in zip(labels, guesses, strict=False)
        ),
    )
    write_atomically(_path(inputs.folder, number), outcome.model_dump_json(indent=1))
    return outcome


@dataclass(frozen=True)
class RoundStart:
    """What a round knows before anybody is asked."""

    before: list[RoundOutcome]
    labelled: list[Utterance]
    pool: list[Utterance]
    probe: Probe
    chosen: list[Utterance]


def start_round(inputs: SeedingInputs, number: int) -> RoundStart:
    """Choose the rows of round ``number``. Nobody is asked, nothing is written.

    Raises:
        StageInputMissing: an earlier round is not done.
        StageFailed: there is no labelled row at all.
    """
    before = [earlier_round(inputs.folder, earlier) for earlier in range(1, number)]
    labelled = labelled_after(inputs, number - 1)
    settled = {row.id for row in labelled} | {item.id for outcome in before for item in outcome.waiting}
    pool = [row for row in inputs.pool if row.id not in settled]
    probe = fit_probe(inputs, labelled)
    return RoundStart(before, labelled, pool, probe, _choose(inputs, number, probe, labelled, pool))


def finished_rounds(inputs: SeedingInputs) -> int:
    """Rounds that are done, counted from the first."""
    numbers = range(1, inputs.settings.rounds + 1)
    return next((number - 1 for number in numbers if not _path(inputs.folder, number).is_file()), inputs.settings.rounds)


def earlier_round(folder: Path, number: int) -> RoundOutcome:
    """What a finished round left.

    Raises:
        StageInputMissing: it is not finished.
    """
    outcome = _read_outcome(folder, number)
    if outcome is None:
        raise StageInputMissing(f"seeding round {number} is not done in {folder}: run the rounds in order")
    return outcome


def _read_outcome(folder: Path, number: int) -> RoundOutcome | None:
    path = _path(folder, number)
    return RoundOutcome.model_validate_json(path.read_text(encoding="utf-8")) if path.is_file() else None


def _path(folder: Path, number: int) -> Path:
    return folder / f"round-{number:04d}.json"


def labelled_after(inputs: SeedingInputs, number: int) -> list[Utterance]:
    """Labelled rows after ``number`` rounds: seeds, what was written for intents without any, what the rounds labelled.

    Raises:
        StageInputMissing: a round is not done.
    """
    cold = read_synthetic(inputs.folder, "start")
    outcomes = [earlier_round(inputs.folder, done) for done in range(1, number + 1)]
    return [*inputs.seeds, *(cold.rows if cold else ()), *(row for outcome in outcomes for row in outcome.labelled)]


def fit_probe(inputs: SeedingInputs, rows: Sequence[Utterance]) -> Probe:
    """The independent labeller, from labelled rows.

    Raises:
        StageFailed: there is none.
    """
    return Probe.fit(rows, seed=inputs.seed, vocabulary_texts=[row.text for row in inputs.pool])


def _choose(
    inputs: SeedingInputs, number: int, probe: Probe, labelled: Sequence[Utterance], pool: Sequence[Utterance]
) -> list[Utterance]:
    if not pool:
        return []
    scorer = inputs.student(probe) if inputs.student else None
    ids = select(
        probed_pool(probe, pool, labelled, settings=inputs.settings, embedder=inputs.embedder, scorer=scorer),
        inputs.settings.per_round,
        strategy=inputs.settings.strategy,
        entropy_weight=inputs.settings.entropy_weight,
        audit_share=inputs.settings.audit_share,
        rng=np.random.default_rng([inputs.seed, number]),
    )
    by_id = {row.id: row for row in pool}
    return [by_id[row_id] for row_id in ids]


def _ask(
    inputs: SeedingInputs,
    teacher: ChatClient | None,
    labelled: Sequence[Utterance],
    chosen: Sequence[Utterance],
    max_concurrency: int,
    sleep: Callable[[float], None],
    progress: Progress | None,
) -> list[TeacherLabel]:
    """The teacher's labels of the chosen rows, in order; none without a teacher. The rows go in the order of the pool's
    ids, so that not even their order tells the teacher what the probe thinks."""
    if teacher is None or not chosen:
        return []
    labeller = SelfLabeller(
        client=teacher,
        prompt=teacher_prompt(inputs, labelled),
        catalog=inputs.catalog,
        log=LabelLog(inputs.label_log),
        max_concurrency=max_concurrency,
        seed=inputs.seed,
        sleep=sleep,
        votes=inputs.settings.votes,
    )
    by_id = {label.row.id: label for label in labeller.label(sorted(chosen, key=lambda row: row.id), progress)}
    return [by_id[row.id] for row in chosen]


def teacher_prompt(inputs: SeedingInputs, labelled: Sequence[Utterance]) -> TeacherPrompt:
    """What the teacher is asked with, given the rows that are labelled by then."""
    return TeacherPrompt(inputs.catalog, labelled, few_shot=inputs.settings.few_shot, facts_about=inputs.facts_about)
