"""Adapters that PEFT really wrote, against what vLLM loads: refused with the reason, from their files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

from kickwheel.errors import StageFailed
from kickwheel.settings import ServerSettings
from kickwheel.tuning.installed_loader_adapter import installed_rules
from kickwheel.tuning.loader_rules import KNOWN, LoaderRules, read_rules
from kickwheel.tuning.memory_estimate import lora_parameters, serving_memory, training_memory
from kickwheel.tuning.preflight import adapter_problems
from schemas.tuning import LoraPlan


def peft_adapter(base: Path, out: Path, *, resize: int = 0, **changes: Any) -> Path:
    """An adapter as PEFT saves it when left to itself."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base)
    if resize:
        model.resize_token_embeddings(resize)
    settings = {"r": 4, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"} | changes
    get_peft_model(model, LoraConfig(**settings)).save_pretrained(out, save_embedding_layers=bool(resize))
    return out


def problems(folder: Path, base: Path, rank: int = 16, **more: Any) -> str:
    return "; ".join(adapter_problems(folder, max_lora_rank=rank, base_path=base, **more))


def test_a_plain_adapter_has_no_problems(tiny_base: Path, tmp_path: Path) -> None:
    assert problems(peft_adapter(tiny_base, tmp_path), tiny_base) == ""


def test_lm_head_in_modules_to_save_is_refused_by_configuration_and_by_weights(tiny_base: Path, tmp_path: Path) -> None:
    folder = peft_adapter(tiny_base, tmp_path, modules_to_save=["lm_head"])
    assert "modules_to_save is ['lm_head']" in problems(folder, tiny_base)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "modules_to_save": None}))
    assert "no LoRA matrices: base_model.model.lm_head" in problems(folder, tiny_base)


def test_dora_is_refused_by_configuration_and_by_weights(tiny_base: Path, tmp_path: Path) -> None:
    folder = peft_adapter(tiny_base, tmp_path, use_dora=True)
    found = problems(folder, tiny_base)
    assert "DoRA (use_dora) cannot be served: vLLM 0.32.0 refuses it" in found
    assert "lora_magnitude_vector" in found


@pytest.mark.parametrize(
    "changes",
    [{"r": 24}, {"rank_pattern": {"q_proj": 24}}, {"rank_pattern": {r".*\.v_proj": 24}}],
    ids=["r", "name", "pattern"],
)
def test_rank_24_needs_a_server_of_32(tiny_base: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = peft_adapter(tiny_base, tmp_path, **changes)
    assert "rank 24 is above the server's max_lora_rank 16: set KICKWHEEL_SERVER__MAX_LORA_RANK to 32" in problems(
        folder, tiny_base, 16
    )
    assert problems(folder, tiny_base, 32) == ""
    assert "max_lora_rank 24 is none that vLLM 0.32.0 takes" in problems(folder, tiny_base, 24)


def test_a_rank_that_the_configuration_hides_is_seen_in_the_weights(tiny_base: Path, tmp_path: Path) -> None:
    folder = peft_adapter(tiny_base, tmp_path, r=24)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "r": 8}))
    assert "matrices of rank 24 are above max_lora_rank 16" in problems(folder, tiny_base)


def test_a_resized_vocabulary_would_load_and_be_wrong(tiny_base: Path, tmp_path: Path) -> None:
    folder = peft_adapter(tiny_base, tmp_path, resize=300, target_modules=["embed_tokens", "q_proj"])
    found = problems(folder, tiny_base)
    assert "passes over without a word" in found
    assert "lora_embedding_A is 300 wide, the base's vocabulary has 264 tokens" in found


def test_another_base_is_told_by_its_shapes(tiny_base: Path, tmp_path: Path) -> None:
    folder = peft_adapter(tiny_base, tmp_path)
    tensors = load_file(folder / "adapter_model.safetensors")
    wider = {name: tensor.repeat(2, axis=1) if "lora_A" in name else tensor for name, tensor in tensors.items()}
    save_file(wider, folder / "adapter_model.safetensors")
    assert "belongs to another base" in problems(folder, tiny_base)
    deeper = {name.replace("layers.1", "layers.7"): tensor for name, tensor in tensors.items()}
    save_file(deeper, folder / "adapter_model.safetensors")
    assert "the base has no such modules: model.layers.7" in problems(folder, tiny_base)


def test_half_a_pair_no_tensors_and_torn_files(tiny_base: Path, tmp_path: Path) -> None:
    folder = peft_adapter(tiny_base, tmp_path)
    file = folder / "adapter_model.safetensors"
    tensors = load_file(file)
    save_file({name: tensor for name, tensor in tensors.items() if "lora_B" not in name}, file)
    assert "one of the two LoRA matrices is missing" in problems(folder, tiny_base)
    save_file({}, file)
    assert "holds no tensors" in problems(folder, tiny_base)
    file.write_bytes(b"\x00" * 4)
    with pytest.raises(StageFailed, match="no safetensors file"):
        problems(folder, tiny_base)


def test_modules_that_the_server_was_not_started_for(tiny_base: Path, tmp_path: Path) -> None:
    folder = peft_adapter(tiny_base, tmp_path, target_modules=["q_proj", "o_proj"])
    assert "touches o_proj" in problems(folder, tiny_base, modules=("q_proj", "v_proj"))
    assert problems(folder, tiny_base, modules=()) == ""


OLD_LOADER = """
class PEFTHelper:
    r: int
    lora_alpha: int
    use_dora: bool = False
"""


def test_rules_are_read_from_the_installed_source_without_importing_it(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "lora").mkdir()
    (tmp_path / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "_version.py").write_text("__version__ = version = '0.9.1'")
    (tmp_path / "config" / "lora.py").write_text(
        "MaxLoRARanks = Literal[8, 16]\nclass L:\n    max_lora_rank: MaxLoRARanks = 8\n"
    )
    (tmp_path / "lora" / "peft_helper.py").write_text(OLD_LOADER)
    rules = read_rules(tmp_path)
    assert (rules.version, rules.ranks, rules.default_rank) == ("0.9.1", (8, 16), 8)
    assert rules.fields == {"r", "lora_alpha", "use_dora"}
    assert rules.plain_starts == KNOWN.plain_starts
    assert read_rules(tmp_path / "nothing") == LoaderRules(version="", source=str(tmp_path / "nothing"))


def test_what_an_old_loader_does_not_read_is_refused_too(tiny_base: Path, tmp_path: Path) -> None:
    old = LoaderRules(version="0.9.1", source="test", fields=frozenset({"r", "lora_alpha", "use_dora"}))
    folder = peft_adapter(tiny_base, tmp_path, rank_pattern={"q_proj": 8})
    assert "rank_pattern is set: vLLM 0.9.1 passes over it" in problems(folder, tiny_base, rules=old)


def test_a_server_behind_a_url_is_judged_by_the_rules_that_are_known() -> None:
    assert installed_rules(ServerSettings(url="http://127.0.0.1:1/v1")) == KNOWN
    assert installed_rules(ServerSettings(command="/bin/sh serve")) == KNOWN


def test_memory_is_estimated_from_the_checkpoint(tiny_base: Path) -> None:
    from kickwheel.tuning.adapter_tensors import base_shapes

    base = base_shapes(tiny_base)
    # q_proj is 32 by 32, v_proj 16 by 32 (two of four heads), two layers.
    assert lora_parameters(base, ("q_proj", "v_proj"), 4) == 2 * 4 * ((32 + 32) + (16 + 32))
    plan = LoraPlan(r=4)
    short, long = (training_memory(tiny_base, plan, tokens=tokens, rows=2) for tokens in (50, 100))
    assert short.parts["lora_and_optimiser"] == 16 * 896
    assert long.parts["output"] == 2 * short.parts["output"] == 12 * 2 * 100 * 264
    assert long.parts["activations"] > 2 * short.parts["activations"]
    server = serving_memory(tiny_base, ServerSettings(kv_cache_gib=1), max_lora_rank=8)
    assert server.parts["kv_cache"] == 1024**3
    assert "GiB" in server.told()
    assert server.total == sum(server.parts.values())
