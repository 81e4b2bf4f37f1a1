"""The rounds put together: the labelled rows that the next stage learns from, and an account of where they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import get_args

from kickwheel.inference.purse import Budget, Spent
from kickwheel.seeding.acceptance import is_stopped, summed
from kickwheel.seeding.coverage import coverage
from kickwheel.seeding.gate import Gated, checked_rows
from kickwheel.seeding.rounds import RoundOutcome, earlier_round, labelled_after
from kickwheel.seeding.synthesis.synthetic_rows import read_synthetic, summed_reports
from kickwheel.settings import SeedingSettings
from kickwheel.workspace import write_jsonl
from schemas.seed_checks import RowKind, SeedChecks
from schemas.seeding import SeedSet, TeacherContribution, TeacherSpend
from schemas.utterance import Utterance

BUNDLED = "bundled answers (demo)"
PEOPLE = "people"


def assemble_seed_set(
    gate: Gated, *, teacher_model: str, unavailable_reason: str | None = None, spend: TeacherSpend | None = None
) -> SeedSet:
    """Write ``train.jsonl`` and ``review_queue.jsonl`` of all rounds and count what they hold.

    Args:
        gate: the inputs of the rounds, and what was found in them.
        teacher_model: served name of the teacher, empty if there was none.
        unavailable_reason: why there was none.
        spend: what the teacher has cost.

    Raises:
        StageInputMissing: a round is not done.
    """
    inputs = gate.inputs
    outcomes = [earlier_round(inputs.folder, number) for number in range(1, inputs.settings.rounds + 1)]
    thin = read_synthetic(inputs.folder, "end")
    labelled = labelled_after(inputs, inputs.settings.rounds)
    train, checks = checked_rows([*labelled, *(thin.rows if thin else ())], gate)
    kept = {row.id for row in train}
    waiting = [item for outcome in outcomes for item in (*outcome.waiting, *outcome.audits) if item.id not in _left_out(checks)]
    parsed = sum(outcome.parsed for outcome in outcomes)
    sources = Counter(row.provenance.source if row.provenance else "seed" for row in train)
    return SeedSet(
        train=write_jsonl(inputs.folder / "train.jsonl", train),
        review_queue=write_jsonl(inputs.folder / "review_queue.jsonl", waiting),
        labels_by_source=dict(sorted(sources.items())),
        rounds=tuple(outcome.report for outcome in outcomes),
        teacher=_contribution(outcomes, kept, inputs.answers, teacher_model, unavailable_reason),
        reviewer=inputs.reviewer or (BUNDLED if inputs.answers else PEOPLE),
        coverage=coverage(train, inputs.catalog, languages=[row.language for row in inputs.pool]),
        agreement=sum(outcome.agreed for outcome in outcomes) / parsed if parsed else None,
        checks=checks,
        spend=spend,
        synthesis=summed_reports(inputs.folder),
        notes=tuple(_notes(outcomes, inputs.settings)),
    )


def spend_of(spent: Spent, budget: Budget) -> TeacherSpend:
    """What was spent, in money too where there are prices."""
    cost = budget.cost(spent.prompt_tokens, spent.completion_tokens) if budget.has_prices else None
    return TeacherSpend(
        calls=spent.calls, prompt_tokens=spent.prompt_tokens, completion_tokens=spent.completion_tokens, cost=cost
    )


def _left_out(checks: SeedChecks) -> set[str]:
    return {leak.id for leak in checks.leaks} | {duplicate.id for duplicate in checks.duplicates}


def _notes(outcomes: Sequence[RoundOutcome], settings: SeedingSettings) -> Iterator[str]:
    unasked = sum(outcome.report.teacher_errors.get("budget_spent", 0) for outcome in outcomes)
    if unasked:
        yield (
            f"the teacher's budget ended the asking: {unasked} rows were not put to it and wait for a person; "
            "what it had answered is kept"
        )
    figures = [figure for outcome in outcomes for figure in outcome.report.audit]
    for kind in get_args(RowKind):
        if is_stopped(figures, kind, settings):
            total = summed(figures, kind)
            yield (
                f"self-acceptance of {kind} rows stopped: {total.right} of {total.checked} checked labels are right, at least "
                f"{100 * settings.min_precision:.0f} % are wanted; the others go to people"
            )


def _contribution(
    outcomes: Sequence[RoundOutcome],
    kept: Set[str],
    answers: Mapping[str, Utterance],
    model: str,
    unavailable_reason: str | None,
) -> TeacherContribution:
    """``right`` is known only if the reviewer answered every accepted row: a share of some would read as a share of all."""
    accepted = [row for outcome in outcomes for row in outcome.accepted if row.id in kept]
    truths = [answers[row.id].frame for row in accepted if row.id in answers]
    known = len(truths) == len(accepted) and bool(accepted)
    return TeacherContribution(
        model=model or "none",
        labels=len(accepted),
        right=sum(row.frame == truth for row, truth in zip(accepted, truths, strict=True)) if known else None,
        unavailable_reason=unavailable_reason,
    )
