"""What a lap's seeding stage starts from: rows of the domain, labels of the lap before, through the gate."""

from __future__ import annotations

from pathlib import Path

from kickwheel.domain import Domain
from kickwheel.embedding.open_adapter import open_embedder
from kickwheel.feedback.bad_case_rows import bad_case_targets, with_targets
from kickwheel.lineage import starting_rows
from kickwheel.review.reviewed_rows import reviewed_rows, with_reviewed
from kickwheel.seeding.carried_rows import carried_rows
from kickwheel.seeding.domain_facts import facts_of
from kickwheel.seeding.gate import Gated, gated
from kickwheel.seeding.named_targets import named_targets
from kickwheel.seeding.personal_data import masked
from kickwheel.seeding.rounds import SeedingInputs
from kickwheel.seeding.seed_set import BUNDLED, PEOPLE
from kickwheel.settings import Settings
from kickwheel.workspace import Lap, read_jsonl
from schemas.task import TaskCatalog
from schemas.utterance import Utterance


def label_log(settings: Settings, domain: Domain) -> Path:
    """Every teacher call of a domain, whatever the lap: what was paid for once is not paid for again."""
    return settings.home / domain.name / "teacher_calls.jsonl"


def lap_inputs(domain: Domain, settings: Settings, lap: Lap, catalog: TaskCatalog, folder: Path) -> Gated:
    """Inputs of all rounds of a lap.

    Args:
        folder: where the rounds are written.

    Raises:
        InputError: a row does not hold.
    """
    seeding = settings.seeding
    seeds, bundled = domain.rows("seeds"), {row.id: row for row in domain.rows("review")}
    pool = with_targets(domain.rows("pool"), bad_case_targets(settings.home, domain.name))
    asked = (masked(row) if seeding.mask_personal_data else row for row in pool)  # what reviewers saw
    people = reviewed_rows(lap, asked, catalog)
    if before := starting_rows(settings, domain, lap):
        current = bundled | {row.id: row for row in seeds}
        seeds = carried_rows(read_jsonl(Path(before.path), Utterance), current, catalog)
    inputs = SeedingInputs(
        catalog=catalog,
        seeds=with_reviewed(seeds, people.known),
        pool=pool,
        valid=domain.rows("valid"),
        answers={**bundled, **people.answers},
        reviewer=" and ".join(name for name, rows in ((BUNDLED, bundled), (PEOPLE, people.answers or people.known)) if rows),
        folder=folder,
        label_log=label_log(settings, domain),
        settings=seeding,
        seed=settings.seed,
        embedder=open_embedder(seeding.embedder, settings.home) if seeding.strategy == "diversity" else None,
        facts_about=facts_of(domain, seeding.facts),
        named=named_targets(domain.glossary(), catalog),
    )
    return gated(inputs, {"valid": inputs.valid, "eval": domain.rows("eval")})
