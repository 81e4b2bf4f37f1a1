"""How much memory training and serving will take, before anything is loaded. Estimates: upper ones, within a factor of two.

P parameters of the base at b bytes (2 for bf16), L layers of width h with a heads and k key-value heads of width d, vocabulary
V, LoRA rank r on matrices of (out, in).

- **LoRA parameters**: sum of r (in + out) over the adapted matrices.
- **Weights**: P b, from the checkpoint's own file sizes.
- **LoRA with optimiser**: 16 bytes a LoRA parameter: fp32 weight, gradient and AdamW's two moments (ZeRO's count, Rajbhandari
  et al. 2020, arXiv 1910.02054, less its fp16 copies: PEFT keeps adapters in fp32).
- **Activations**: L s B h (34 + 5 a s / h) bytes in 16 bit for B rows of s tokens, nothing recomputed (Korthikanti et al. 2022,
  arXiv 2205.05198, equation 1); twice that in fp32. A frozen base keeps as many: the gradient passes through it.
- **Output**: 12 s B V bytes: logits in fp32, their softmax and its gradient; all positions, so an upper bound.
- **KV cache**: 2 L k d b bytes a token, times max_model_len x max_num_seqs (every sequence at its longest: vLLM pages it, and
  takes what there is); on the CPU the setting kv_cache_gib.
- **LoRA slots**: r_max (in + out) b bytes over the served modules, one slot.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kickwheel.errors import ModelUnavailable
from kickwheel.settings import ServerSettings
from kickwheel.tuning.adapter_tensors import Shapes, base_shapes
from schemas.tuning import LoraPlan

GIB = 1024**3


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by what takes them."""

    parts: dict[str, int]

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self.parts.values())

    def told(self) -> str:
        """In words: the sum, and what it is made of."""
        made_of = ", ".join(f"{name} {size / GIB:.2f}" for name, size in self.parts.items())
        return f"about {self.total / GIB:.1f} GiB ({made_of})"


def lora_parameters(base: Shapes, modules: Collection[str], rank: int) -> int:
    """Parameters of a LoRA of this rank on every matrix of these names; empty: every matrix of a layer."""
    return sum(
        rank * (shape[0] + shape[1])
        for name, shape in base.items()
        if len(shape) == 2 and ".layers." in name and (not modules or name.split(".")[-2] in modules)
    )


def training_memory(
    base_path: Path, plan: LoraPlan, *, tokens: int, rows: int, width: int = 2, fp32_base: bool = False
) -> MemoryEstimate:
    """Memory of a training step on ``rows`` rows of ``tokens`` tokens.

    Args:
        width: bytes of a number of the activations.
        fp32_base: the base is computed in fp32, whatever its checkpoint holds.

    Raises:
        ModelUnavailable: the folder holds no model.
    """
    base, config = base_shapes(base_path), _config(base_path)
    layers, hidden, heads = config["num_hidden_layers"], config["hidden_size"], config["num_attention_heads"]
    a_row = layers * tokens * hidden * (34 + 5 * heads * tokens / hidden) * width / 2
    return MemoryEstimate(
        {
            "weights": _parameters(base) * 4 if fp32_base else _weight_bytes(base_path),
            "lora_and_optimiser": 16 * lora_parameters(base, plan.target_modules, plan.r),
            "activations": int(rows * a_row),
            "output": 12 * rows * tokens * config["vocab_size"],
        }
    )


def serving_memory(base_path: Path, settings: ServerSettings, *, max_lora_rank: int) -> MemoryEstimate:
    """Memory of the model server.

    Raises:
        ModelUnavailable: the folder holds no model.
    """
    base, config = base_shapes(base_path), _config(base_path)
    modules = settings.lora_modules if settings.device == "cpu" else ()
    heads = config["num_attention_heads"]
    head = config.get("head_dim") or config["hidden_size"] // heads
    a_token = 2 * config["num_hidden_layers"] * (config.get("num_key_value_heads") or heads) * head * 2
    whole = a_token * settings.max_model_len * settings.max_num_seqs
    return MemoryEstimate(
        {
            "weights": _weight_bytes(base_path),
            "kv_cache": settings.kv_cache_gib * GIB if settings.device == "cpu" else whole,
            "lora_slots": 2 * lora_parameters(base, modules, max_lora_rank),
        }
    )


def _config(base_path: Path) -> dict[str, Any]:
    path = base_path / "config.json"
    if not path.is_file():
        raise ModelUnavailable(f"{base_path} holds no model: it has no config.json")
    config = dict(json.loads(path.read_text(encoding="utf-8")))
    return dict(config.get("text_config") or config)


def _parameters(base: Shapes) -> int:
    return sum(math.prod(shape) for shape in base.values())


def _weight_bytes(base_path: Path) -> int:
    return sum(file.stat().st_size for file in base_path.glob("*.safetensors"))
