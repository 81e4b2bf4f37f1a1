"""What rows must pass before they are chosen, shown to a teacher or learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kickwheel.seeding.duplicates import duplicate_rows, repeated_texts
from kickwheel.seeding.label_errors import label_suspects
from kickwheel.seeding.leakage import HeldOut, leaked_rows
from kickwheel.seeding.personal_data import masked, personal_data
from kickwheel.seeding.rounds import SeedingInputs
from kickwheel.settings import SeedingSettings
from schemas.seed_checks import LeakedRow, SeedChecks
from schemas.utterance import Utterance


@dataclass(frozen=True)
class Gated:
    """Inputs that may be used, and what was found on the way."""

    inputs: SeedingInputs
    held_out: HeldOut
    checks: SeedChecks


def gated(inputs: SeedingInputs, held_out: HeldOut) -> Gated:
    """Inputs without rows that leak into the evaluation and without pool rows whose text is there already.

    Personal data are counted, and masked where the settings say so: before anybody, a teacher or a reviewer, sees them.
    """
    settings = inputs.settings
    leaks = _leaks([*inputs.seeds, *inputs.pool], held_out, settings)
    refused = {leak.id for leak in leaks}
    seeds = [row for row in inputs.seeds if row.id not in refused]
    pool = [row for row in inputs.pool if row.id not in refused]
    repeated = repeated_texts(pool, seeds)
    pool = [row for row in pool if row.id not in repeated]
    kinds: Counter[str] = Counter()
    holders = []
    for row in [*seeds, *pool]:
        found = personal_data(row.text)
        kinds.update(finding.kind for finding in found)
        holders += [row.id] if found else []
    answers = inputs.answers
    if settings.mask_personal_data and holders:
        seeds, pool = [masked(row) for row in seeds], [masked(row) for row in pool]
        answers = {row_id: masked(row) for row_id, row in answers.items()}
    return Gated(
        replace(inputs, seeds=seeds, pool=pool, answers=answers),
        held_out,
        SeedChecks(
            leaks=tuple(leaks),
            repeated_pool_rows=len(repeated),
            personal_data=dict(sorted(kinds.items())),
            personal_data_rows=tuple(holders),
            masked=settings.mask_personal_data,
        ),
    )


def checked_rows(rows: Sequence[Utterance], gate: Gated) -> tuple[list[Utterance], SeedChecks]:
    """Labelled rows that may be learned from, and the gate's findings with those that take labels to see."""
    settings = gate.inputs.settings
    leaks = _leaks(rows, gate.held_out, settings)
    refused = {leak.id for leak in leaks}
    kept = [row for row in rows if row.id not in refused]
    duplicates = duplicate_rows(kept, threshold=settings.near_duplicate)
    out = {duplicate.id for duplicate in duplicates}
    kept = [row for row in kept if row.id not in out]
    suspects = label_suspects(kept, folds=settings.label_folds, seed=gate.inputs.seed)
    found = {"leaks": (*gate.checks.leaks, *leaks), "duplicates": tuple(duplicates), "suspects": tuple(suspects)}
    return kept, gate.checks.model_copy(update=found)


def _leaks(rows: Sequence[Utterance], held_out: HeldOut, settings: SeedingSettings) -> list[LeakedRow]:
    return leaked_rows(rows, held_out, threshold=settings.near_duplicate, templates=settings.template_leaks)
