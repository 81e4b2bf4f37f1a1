"""Every contract in ``schemas/``: frozen, documented, and the same JSON in and out; its JSON Schema changes only on purpose."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

import schemas
from schemas.base import Contract
from tests.contracts.samples import samples_by_contract

SNAPSHOTS = Path(__file__).parent / "snapshots"
UPDATE = "KICKWHEEL_UPDATE_SNAPSHOTS"

OBVIOUS = frozenset(
    """
    abandoned accepted_from_teacher ab_note action alpha arm attempts base_licence batch_size bounced case cases
    code_version completion_tokens completion_tokens_per_s correction_rate decision description document domain
    dropout duration_s engine_settings errors f1 holds_slo id intent intent_accuracy labels
    labels_by_source language lap learning_rate line loss max_in_flight measured min_gain mlflow_run_id model name
    not_measured_reason number offered_rate p50 p90 p95 p99 p_value precision prompt_tokens quote r reason reasons
    recall replayed rows schema_version seconds seed sent signals_by_rule slot slot_precision slot_recall source split
    stage startup_s step strength succeeded target_modules task_completion teacher_note text tokens_per_second
    trained_tokens type unavailable_reason unparsable_rate user value warmup_s
    """.split()  # noqa: SIM905 (a hundred quotation marks would hide the names)
)
"""Names that say all there is to say beside their contract's docstring. A new field is described, or argued into this list."""


def contracts() -> list[type[Contract]]:
    """Every contract that a module of ``schemas`` defines, by name."""
    for module in pkgutil.iter_modules(schemas.__path__):
        importlib.import_module(f"schemas.{module.name}")
    found = [kind for kind in _subclasses(Contract) if kind.__module__.startswith("schemas.")]
    return sorted(found, key=lambda kind: kind.__name__)


def _subclasses(kind: type[Contract]) -> Iterator[type[Contract]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _contracts_within(annotation: object) -> set[type[Contract]]:
    """Contracts that an annotation names, however deep in tuples, mappings and unions."""
    if isinstance(annotation, type) and issubclass(annotation, Contract):
        return {annotation}
    return {kind for part in typing.get_args(annotation) for kind in _contracts_within(part)}


def top_level() -> list[type[Contract]]:
    """Contracts that travel alone: versioned ones, and those that no other contract holds."""
    held = {
        kind for owner in contracts() for field in owner.model_fields.values() for kind in _contracts_within(field.annotation)
    }
    return [kind for kind in contracts() if "schema_version" in kind.model_fields or kind not in held]


every_contract = pytest.mark.parametrize("kind", contracts(), ids=lambda kind: kind.__name__)
every_top_level = pytest.mark.parametrize("kind", top_level(), ids=lambda kind: kind.__name__)


def test_contracts_are_found_and_their_names_are_unique() -> None:
    names = [kind.__name__ for kind in contracts()]
    assert {"Frame", "Utterance", "TaskCatalog", "SeedSet", "TuningReport", "ThroughputReport", "LapReport"} <= set(names)
    assert len(names) == len(set(names))


@every_contract
def test_contract_is_frozen_and_refuses_unknown_fields(kind: type[Contract]) -> None:
    assert kind.model_config.get("frozen") is True
    assert kind.model_config.get("extra") == "forbid"
    sample = samples_by_contract()[kind][0]
    name = next(iter(kind.model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(sample, name, getattr(sample, name))
    with pytest.raises(ValidationError, match="Extra inputs"):
        kind.model_validate({**sample.model_dump(), "no_such_field": 1})


@every_contract
def test_contract_and_its_fields_are_documented(kind: type[Contract]) -> None:
    assert kind.__doc__
    assert kind.__doc__ != Contract.__doc__
    silent = [
        name
        for name, field in kind.model_fields.items()
        if not field.description and name not in OBVIOUS and not _contracts_within(field.annotation)
    ]
    assert silent == [], f"{kind.__name__}: describe these fields with Field(description=…): {', '.join(silent)}"


def test_no_name_stays_in_the_list_of_obvious_ones_without_need() -> None:
    silent = {name for kind in contracts() for name, field in kind.model_fields.items() if not field.description}
    assert set() == OBVIOUS - silent


@every_contract
def test_contract_has_samples_that_survive_json(kind: type[Contract]) -> None:
    samples = samples_by_contract().get(kind, [])
    assert samples, f"add a sample of {kind.__name__} to tests/contracts/samples.py"
    for sample in samples:
        assert kind.model_validate_json(sample.model_dump_json()) == sample
        assert kind.model_validate(json.loads(json.dumps(sample.model_dump(mode="json"), ensure_ascii=False))) == sample


@every_top_level
def test_json_schema_equals_its_snapshot(kind: type[Contract]) -> None:
    seen = json.dumps(kind.model_json_schema(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    path = SNAPSHOTS / f"{kind.__name__}.json"
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen, encoding="utf-8")
    known = path.read_text(encoding="utf-8") if path.is_file() else ""
    assert seen == known, (
        f"the JSON Schema of {kind.__name__} is not the one in {path.name}. If the change is meant, raise schema_version "
        f"where readers must know, and write the snapshots anew with {UPDATE}=1 pytest tests/contracts"
    )


def test_every_snapshot_belongs_to_a_contract() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.json")} == {kind.__name__ for kind in top_level()}


def test_results_of_stages_are_versioned() -> None:
    lap = next(kind for kind in contracts() if kind.__name__ == "LapReport")
    stages = ("intent", "seeding", "tuning", "throughput", "distillation")
    results = [kind for stage in stages for kind in _contracts_within(lap.model_fields[stage].annotation)]
    assert len(results) == len(stages)
    for kind in (lap, *results):
        assert "schema_version" in kind.model_fields, kind.__name__


@every_contract
def test_contract_holds_only_immutable_containers_or_mappings(kind: type[Contract]) -> None:
    for name, field in kind.model_fields.items():
        assert "list[" not in str(field.annotation), f"{kind.__name__}.{name}: a frozen contract holds tuples"
        assert "set[" not in str(field.annotation), f"{kind.__name__}.{name}: a set has no order in JSON"


def test_samples_are_whole_models() -> None:
    assert all(isinstance(sample, BaseModel) for samples in samples_by_contract().values() for sample in samples)
