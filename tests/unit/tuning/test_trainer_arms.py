"""The causal student's trainer under a guard, with weighted rows, and on every weight."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from safetensors.numpy import load_file

from kickwheel.tuning.model_adapter import load_base, load_tokenizer
from kickwheel.tuning.ports import Surroundings, TrainedAdapter
from kickwheel.tuning.trainer_adapter import PeftTrainer
from schemas.training import GuardPlan, RobustPlan
from schemas.tuning import LoraPlan
from schemas.utterance import Provenance, Utterance
from tests.unit.tuning.lora_run import PLAN, rows

SHORT = PLAN.model_copy(update={"max_tokens": 2_000})


def found() -> list[Utterance]:
    """Every second row was chosen by a round of acquisition."""
    sources = [Provenance(source="seed"), Provenance(source="teacher", round=1)]
    return [row.model_copy(update={"provenance": sources[index % 2]}) for index, row in enumerate(rows())]


def train(base: Path, out: Path, plan: LoraPlan = SHORT, **around: object) -> TrainedAdapter:
    return PeftTrainer().train(found(), plan, base_path=base, out=out, around=Surroundings(**around))  # type: ignore[arg-type]


def weights(folder: Path) -> dict[str, bytes]:
    return {name: tensor.tobytes() for name, tensor in load_file(folder / "adapter_model.safetensors").items()}


def test_guard_watches_without_changing_what_is_learned(tiny_base: Path, tmp_path: Path) -> None:
    plain = train(tiny_base, tmp_path / "plain", guard=GuardPlan(action="off"))
    watched = train(tiny_base, tmp_path / "watched", valid=rows(4))
    assert weights(plain.folder) == weights(watched.folder)
    assert len(watched.validation) == 5
    assert watched.validation[-1][1] < watched.validation[0][1]
    assert plain.validation == ()
    assert {event.what for event in watched.events} == {"schedule"}  # few steps are told


def test_explosion_lowers_the_rate_and_then_ends_the_training(tiny_base: Path, tmp_path: Path) -> None:
    nervous = GuardPlan(gradient_variance=1e-12, window=3, cuts=1)
    trained = train(tiny_base, tmp_path / "a", guard=nervous, valid=rows(4))
    assert [event.action for event in trained.events if event.step] == ["lowered", "stopped"]
    assert trained.trained_tokens < SHORT.max_tokens


def test_weights_of_rows_reach_the_loss(tiny_base: Path, tmp_path: Path) -> None:
    plain = weights(train(tiny_base, tmp_path / "plain").folder)
    hard = train(tiny_base, tmp_path / "hard", robust=RobustPlan(hard_weight=2.0))
    believed = train(tiny_base, tmp_path / "seed", robust=RobustPlan(source_weights={"seed": 0.5}))
    assert weights(hard.folder) != plain
    assert weights(hard.folder) == weights(believed.folder)  # twice as much, or the others half as much
    assert weights(train(tiny_base, tmp_path / "all", robust=RobustPlan(source_weights={"reviewer": 0.5})).folder) == plain


def test_a_decay_made_for_more_steps_ends_higher(tiny_base: Path, tmp_path: Path) -> None:
    long = train(tiny_base, tmp_path / "a", SHORT.model_copy(update={"decay_steps": 500}))
    assert any("made for 500 steps" in event.message for event in long.events)
    assert weights(long.folder) != weights(train(tiny_base, tmp_path / "b").folder)


def test_full_fine_tuning_writes_a_base_of_its_own(tiny_base: Path, tmp_path: Path) -> None:
    plan = SHORT.model_copy(update={"method": "full", "learning_rate": 1e-3})
    trained = train(tiny_base, tmp_path / "full", plan)
    assert trained.losses[-1].loss < trained.losses[0].loss
    assert not (trained.folder / "adapter_config.json").exists()
    model = load_base(trained.folder, load_tokenizer(trained.folder))
    assert any(
        not tensor.equal(dict(load_base(tiny_base, load_tokenizer(tiny_base)).named_parameters())[name])
        for name, tensor in model.named_parameters()
    )
    again = train(tiny_base, tmp_path / "full", plan)
    assert replace(again) == trained
    assert json.loads((tmp_path / "full.training.json").read_text())["folder"] == "full"
