"""What a lap's seeding stage starts from: rows of the domain, labels of the lap before, through the gate."""

from __future__ import annotations

from pathlib import Path

from kickwheel.domain import Domain
from kickwheel.embedding.open_adapter import open_embedder
from kickwheel.lineage import starting_rows
from kickwheel.seeding.carried_rows import carried_rows
from kickwheel.seeding.domain_facts import facts_of
from kickwheel.seeding.gate import Gated, gated
from kickwheel.seeding.rounds import SeedingInputs
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
    seeds, answers = domain.rows("seeds"), {row.id: row for row in domain.rows("review")}
    if before := starting_rows(settings, domain, lap):
        current = answers | {row.id: row for row in seeds}
        seeds = carried_rows(read_jsonl(Path(before.path), Utterance), current, catalog)
    inputs = SeedingInputs(
        catalog=catalog,
        seeds=seeds,
        pool=domain.rows("pool"),
        valid=domain.rows("valid"),
        answers=answers,
        folder=folder,
        label_log=label_log(settings, domain),
        settings=seeding,
        seed=settings.seed,
        embedder=open_embedder(seeding.embedder, settings.home) if seeding.strategy == "diversity" else None,
        facts_about=facts_of(domain, seeding.facts),
    )
    return gated(inputs, {"valid": inputs.valid, "eval": domain.rows("eval")})
