"""The rounds put together: the labelled rows that the next stage learns from, and an account of where they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kickwheel.seeding.coverage import coverage
from kickwheel.seeding.rounds import RoundOutcome, SeedingInputs, earlier_round
from kickwheel.workspace import write_jsonl
from schemas.seeding import SeedSet, TeacherContribution
from schemas.utterance import Utterance

BUNDLED = "bundled answers (demo)"
PEOPLE = "people"


def assemble_seed_set(inputs: SeedingInputs, *, teacher_model: str, unavailable_reason: str | None = None) -> SeedSet:
    """Write ``train.jsonl`` and ``review_queue.jsonl`` of all rounds and count what they hold.

    Args:
        teacher_model: served name of the teacher, empty if there was none.
        unavailable_reason: why there was none.

    Raises:
        StageInputMissing: a round is not done.
    """
    outcomes = [earlier_round(inputs.folder, number) for number in range(1, inputs.settings.rounds + 1)]
    train = [*inputs.seeds, *(row for outcome in outcomes for row in outcome.labelled)]
    waiting = [item for outcome in outcomes for item in outcome.waiting]
    parsed = sum(outcome.parsed for outcome in outcomes)
    sources = Counter(row.provenance.source if row.provenance else "seed" for row in train)
    return SeedSet(
        train=write_jsonl(inputs.folder / "train.jsonl", train),
        review_queue=write_jsonl(inputs.folder / "review_queue.jsonl", waiting),
        labels_by_source=dict(sorted(sources.items())),
        rounds=tuple(outcome.report for outcome in outcomes),
        teacher=_contribution(outcomes, inputs.answers, teacher_model, unavailable_reason),
        reviewer=BUNDLED if inputs.answers else PEOPLE,
        coverage=coverage(train, inputs.catalog, languages=[row.language for row in inputs.pool]),
        agreement=sum(outcome.agreed for outcome in outcomes) / parsed if parsed else None,
    )


def _contribution(
    outcomes: Sequence[RoundOutcome], answers: Mapping[str, Utterance], model: str, unavailable_reason: str | None
) -> TeacherContribution:
    """``right`` is known only if the reviewer answered every accepted row: a share of some would read as a share of all."""
    accepted = [row for outcome in outcomes for row in outcome.accepted]
    truths = [answers[row.id].frame for row in accepted if row.id in answers]
    known = len(truths) == len(accepted) and bool(accepted)
    return TeacherContribution(
        model=model or "none",
        labels=len(accepted),
        right=sum(row.frame == truth for row, truth in zip(accepted, truths, strict=True)) if known else None,
        unavailable_reason=unavailable_reason,
    )
