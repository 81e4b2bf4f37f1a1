"""What a training is made of: rows, plan, base, versions. The same recipe gives the same weights on the same machine."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path

from kickwheel import __version__
from kickwheel.domain import Domain
from kickwheel.errors import InputError
from kickwheel.lineage import starting_rows
from kickwheel.seeding.seed_versions import FOLDER, find_version, keep_version
from kickwheel.settings import Settings
from kickwheel.tuning.plan_from_data import DataFacts, plan_encoder, plan_lora
from kickwheel.workspace import Lap, hash_file, read_jsonl
from schemas.base import DataRef
from schemas.seeding import SeedSet
from schemas.student import EncoderStudentPlan, Recipe, StudentKind
from schemas.task import TaskCatalog
from schemas.tuning import LoraPlan, Method
from schemas.utterance import Utterance

WEIGHTS: Mapping[str, str] = {
    "causal-lora": "adapter_model.safetensors",
    "causal-full": "model.safetensors",
    "encoder-lora": "weights.safetensors",
    "encoder-full": "weights.safetensors",
}
"""The file of each arm's weights, whose hash tells one training from another."""

_COMPUTING = ("torch", "transformers", "peft", "accelerate", "tokenizers", "scikit-learn", "numpy")


def training_rows(domain: Domain, settings: Settings, lap: Lap) -> tuple[DataRef, str]:
    """The lap's labelled rows, else the last lap's, else the domain's seeds; and which these are. No teacher is asked."""
    if lap.has("seeding"):
        return lap.load("seeding", SeedSet).train, f"labelled in lap {lap.number}"
    if (rows := starting_rows(settings, domain, lap)) is not None:
        return rows, "those of the last lap, since this one has not labelled any yet"
    return domain.ref("seeds"), (
        "the domain's seeds alone, since nothing was labelled yet (`kickwheel run DOMAIN --stages intent,seeding` does it)"
    )


def make_plan(
    settings: Settings, rows: Sequence[Utterance], kind: StudentKind, method: Method, tokens_a_row: float, base_weights: int
) -> tuple[LoraPlan | EncoderStudentPlan, tuple[str, ...]]:
    """The plan of a student on these rows, and why it is what it is."""
    server = settings.server
    modules = server.lora_modules if server.device == "cpu" else ()
    classes = len({row.frame.intent for row in rows if row.frame})
    facts = DataFacts(len(rows), classes, tokens_a_row, base_weights, server.max_lora_rank, modules)
    if kind == "causal":
        return plan_lora(settings.tuning.model_copy(update={"method": method}), facts)
    return plan_encoder(settings.encoder.model_copy(update={"method": method}), facts)


def make_recipe(
    domain: Domain,
    settings: Settings,
    catalog: TaskCatalog,
    train: DataRef,
    *,
    kind: StudentKind,
    method: Method,
    tokens_a_row: float,
    base_sha256: str,
    base_licence: str,
    base_weights: int,
    threads: int,
) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe of a student under these settings, and why its plan is what it is.

    Args:
        tokens_a_row: mean over the rows, of the base's own tokenizer.
        base_weights: of the base; 0: not known.
    """
    rows = read_jsonl(Path(train.path), Utterance)
    plan, reasons = make_plan(settings, rows, kind, method, tokens_a_row, base_weights)
    kept = keep_version(train, settings.home / domain.name / FOLDER)
    recipe = Recipe(
        domain=domain.name,
        kind=kind,
        causal=plan if isinstance(plan, LoraPlan) else None,
        encoder=plan if isinstance(plan, EncoderStudentPlan) else None,
        robust=settings.robust,
        guard=settings.guard,
        base_model=settings.model.base if kind == "causal" else settings.encoder.base,
        base_sha256=base_sha256,
        base_licence=base_licence,
        train=train.model_copy(update={"path": str(kept)}),
        valid=domain.ref("valid"),
        pool=domain.ref("pool") if domain.pool and domain.pool.is_file() else None,
        catalog=catalog,
        versions=versions(),
        threads=threads,
    )
    return recipe, reasons


def versions() -> dict[str, str]:
    """Of Kickwheel and of what computes."""
    return {"kickwheel": __version__, **{name: importlib.metadata.version(name) for name in _COMPUTING}}


def rows_of(ref: DataRef | None, home: Path) -> list[Utterance]:
    """The rows that a recipe names: from where they lay, or from the versions that are kept.

    Raises:
        InputError: they are not there, or not the same any more.
    """
    if ref is None:
        return []
    path = Path(ref.path)
    if not path.is_file() or hash_file(path) != ref.sha256:
        try:
            path = find_version(ref.sha256, home)
        except InputError as error:
            raise InputError(
                f"the rows of this recipe (sha256 {ref.sha256[:12]}) are gone: {ref.path} is missing or was changed, and no "
                f"version of that hash is kept below {home}",
                field="--from-run",
            ) from error
    return read_jsonl(path, Utterance)


def differences(recipe: Recipe, now: Mapping[str, str]) -> Sequence[str]:
    """Versions that are not those of the recipe: weights may then differ."""
    return [
        f"{name} {recipe.versions.get(name, 'none')} then, {found} now"
        for name, found in now.items()
        if found != recipe.versions.get(name)
    ]
