"""The models of the GPU benchmark: a GGUF unpacked, random LoRA adapters, and an 8 B shape without weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

LLAMA_3_8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
"""Llama 3 8B's published sizes."""

TINY = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
TINY |= {"head_dim": 32, "vocab_size": 49152}


def small_model(gguf: Path, out: Path) -> Path:
    """The GGUF as bf16 safetensors with its tokenizer and a ChatML template; made once."""
    if (out / "model.safetensors").is_file():
        return out
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from kickwheel.inference.base_model_adapter import CHATML

    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    tokenizer.chat_template = CHATML
    tokenizer.eos_token = tokenizer.pad_token = "<|im_end|>"  # noqa: S105
    weights = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    partial = out.with_name(f"{out.name}.partial")
    weights.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)
    return out


def random_adapter(base: Path, out: Path, seed: int) -> Path:
    """A LoRA adapter for ``base`` (r = 8, q and v) of random weights: as much work as a trained one."""
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    hidden = config["hidden_size"]
    head = config.get("head_dim") or hidden // heads
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        for name, width in (("q_proj", heads * head), ("v_proj", groups * head)):
            prefix = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            for part, shape in (("lora_A", (8, hidden)), ("lora_B", (width, 8))):
                weights = 0.02 * torch.randn(shape, generator=generator)
                tensors[f"{prefix}.{part}.weight"] = weights.to(torch.bfloat16)
    out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, out / "adapter_model.safetensors")
    lora = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 8, "lora_alpha": 16, "lora_dropout": 0.0, "bias": "none"}
    lora |= {"target_modules": ["q_proj", "v_proj"], "base_model_name_or_path": str(base), "inference_mode": True}
    (out / "adapter_config.json").write_text(json.dumps(lora), encoding="utf-8")
    return out


def large_model(tokenizer: Path, work: Path, *, tiny: bool) -> dict[str, Path]:
    """Folder of the 8 B shape (config and a tokenizer; weights are vLLM's ``--load-format dummy``) and an adapter for it."""
    out = work / "large"
    out.mkdir(parents=True, exist_ok=True)
    for file in tokenizer.iterdir():
        if "token" in file.name or file.name in ("chat_template.jinja", "vocab.json", "merges.txt"):
            shutil.copy(file, out / file.name)
    (out / "config.json").write_text(json.dumps(LLAMA_3_8B | (TINY if tiny else {})), encoding="utf-8")
    return {"large": out, "large_adapter": random_adapter(out, work / "large_adapter", 7)}
