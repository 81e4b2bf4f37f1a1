"""The trainer that trains nothing writes what PEFT and vLLM take for an adapter."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.numpy import load_file

from kickwheel.errors import StageFailed
from kickwheel.testing.instant_trainer import InstantTrainer
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, with_adapter
from kickwheel.tuning.preflight import check_adapter
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance
from tests.unit.tuning.lora_run import rows


def test_adapter_is_valid_and_does_nothing(tiny_base: Path, tmp_path: Path) -> None:
    trained = InstantTrainer().train(rows(), LoraPlan(), base_path=tiny_base, out=tmp_path / "a")
    check_adapter(trained.folder, max_lora_rank=16)
    model = with_adapter(load_base(tiny_base, load_tokenizer(tiny_base)), trained.folder, trainable=False)
    loaded = {name for name, _ in model.named_parameters() if "lora_" in name}
    tensors = load_file(trained.folder / "adapter_model.safetensors")
    assert len(loaded) == len(tensors) == 2 * 2 * 2  # layers, modules, A and B
    assert all(not tensor.any() for name, tensor in tensors.items() if "lora_B" in name)
    assert trained.trained_tokens <= LoraPlan().max_tokens


def test_same_seed_same_bytes(tiny_base: Path, tmp_path: Path) -> None:
    for name in "ab":
        InstantTrainer().train(rows(), LoraPlan(), base_path=tiny_base, out=tmp_path / name)
    first, second = (path.read_bytes() for path in sorted(tmp_path.glob("*/adapter_model.safetensors")))
    assert first == second


def test_it_refuses_what_a_real_trainer_would(tiny_base: Path, tmp_path: Path) -> None:
    trainer = InstantTrainer()
    with pytest.raises(StageFailed, match="no rows"):
        trainer.train([], LoraPlan(), base_path=tiny_base, out=tmp_path / "a")
    unlabelled = Utterance(id="pool-1", text="hello", language="en")
    with pytest.raises(StageFailed, match="pool-1"):
        trainer.train([unlabelled], LoraPlan(), base_path=tiny_base, out=tmp_path / "a")
    assert not (tmp_path / "a").exists()
