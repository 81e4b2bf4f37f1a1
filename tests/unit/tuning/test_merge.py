"""Merged weights answer as base and adapter together do; a merge is whole, repeatable, and refuses what would go wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kickwheel.errors import ModelUnavailable, StageFailed
from kickwheel.tuning.merge_adapter import RECORD, merge


def random_adapter(base: Path, out: Path, **changes: Any) -> Path:
    """A real PEFT adapter, large enough to change what the model says."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    settings = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "init_lora_weights": False} | changes
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(**settings))
    model.save_pretrained(out, save_embedding_layers=False)
    return out


@pytest.fixture(scope="module")
def adapter(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_adapter(tiny_base, tmp_path_factory.mktemp("merge") / "adapter")


def logits(base: Path, adapter: Path | None) -> Any:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, adapter)
    with torch.no_grad():
        return model.eval()(input_ids=torch.arange(1, 20)[None]).logits


def test_merged_weights_say_what_base_and_adapter_say(tiny_base: Path, adapter: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    merged = merge(tiny_base, adapter, tmp_path / "merged")
    assert torch.allclose(logits(merged, None), logits(tiny_base, adapter), atol=1e-4)
    assert not torch.allclose(logits(merged, None), logits(tiny_base, None), atol=1e-2)
    assert list(merged.glob("*.safetensors"))
    assert not list(merged.glob("*.bin"))
    assert (merged / "tokenizer.json").read_bytes() == (tiny_base / "tokenizer.json").read_bytes()
    tokenizer = AutoTokenizer.from_pretrained(merged)
    assert tokenizer.chat_template == AutoTokenizer.from_pretrained(tiny_base).chat_template
    assert [path.name for path in tmp_path.iterdir()] == ["merged"]


def test_the_base_keeps_its_type(tiny_base: Path, adapter: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    base = tmp_path / "half"
    shutil.copytree(tiny_base, base)
    AutoModelForCausalLM.from_pretrained(tiny_base, dtype=torch.bfloat16).save_pretrained(base)
    merged = merge(base, adapter, tmp_path / "merged")
    assert {tensor.dtype for tensor in load_file(merged / "model.safetensors").values()} == {torch.bfloat16}
    # Rounded once: the sum in fp32, then bf16.
    name = "model.layers.0.self_attn.q_proj.weight"
    whole, parts = load_file(merged / "model.safetensors")[name], load_file(adapter / "adapter_model.safetensors")
    pair = [parts[f"base_model.model.{name.removesuffix('.weight')}.lora_{side}.weight"] for side in "BA"]
    expected = load_file(base / "model.safetensors")[name].float() + 2.0 * pair[0] @ pair[1]
    assert torch.equal(whole, expected.to(torch.bfloat16))


def test_merging_again_does_nothing_and_another_adapter_replaces(tiny_base: Path, adapter: Path, tmp_path: Path) -> None:
    out = merge(tiny_base, adapter, tmp_path / "merged")
    written = (out / "model.safetensors").stat().st_mtime_ns
    merge(tiny_base, adapter, out)
    assert (out / "model.safetensors").stat().st_mtime_ns == written
    key = json.loads((out / RECORD).read_text())["key"]
    other = random_adapter(tiny_base, tmp_path / "other", lora_alpha=32)
    merge(tiny_base, other, out)
    assert json.loads((out / RECORD).read_text())["key"] != key


def test_what_a_kill_left_is_replaced(tiny_base: Path, adapter: Path, tmp_path: Path) -> None:
    partial = tmp_path / ".merged.merging"
    partial.mkdir()
    (partial / "model.safetensors").write_text("half of one")
    assert (merge(tiny_base, adapter, tmp_path / "merged") / RECORD).is_file()
    assert not partial.exists()


def test_a_folder_that_is_no_merge_is_left_alone(tiny_base: Path, adapter: Path, tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    with pytest.raises(StageFailed, match="no merged model"):
        merge(tiny_base, adapter, tmp_path)
    assert (tmp_path / "letters").read_text() == "mine"


def test_a_quantised_base_is_refused(tiny_base: Path, adapter: Path, tmp_path: Path) -> None:
    base = tmp_path / "quantised"
    shutil.copytree(tiny_base, base)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "quantization_config": {"quant_method": "gptq"}}))
    with pytest.raises(StageFailed, match="quantised"):
        merge(base, adapter, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_no_model_and_no_adapter_are_said(tiny_base: Path, adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"config\.json"):
        merge(tmp_path, adapter, tmp_path / "merged")
    with pytest.raises(StageFailed, match=r"adapter_model\.safetensors"):
        merge(tiny_base, tmp_path, tmp_path / "merged")
