"""What the card can do, what a training needs, and where its time goes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

_SIDE = 8192
_KINDS = {
    "matrix products": ("gemm", "nvjet", "cutlass", "xmma", "cublas"),
    "attention": ("fmha", "attention", "flash", "sdpa"),
    "fused elementwise": ("triton",),
    "copies": ("memcpy", "memset"),
}


def matmul_rate() -> float:
    """FLOP/s of a bf16 product of two random square matrices; the median of five times ten."""
    import torch

    left, right = (torch.randn(_SIDE, _SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        left @ right
    rates = []
    for _ in range(5):
        torch.cuda.synchronize()
        started = time.monotonic()
        for _ in range(10):
            left @ right
        torch.cuda.synchronize()
        rates.append(10 * 2 * _SIDE**3 / (time.monotonic() - started))
    return sorted(rates)[2]


def flops_a_token(base: Path, run: dict[str, Any]) -> float:
    """Of a frozen base: 4 a weight and computed token, the output matrix at the share of tokens that are predicted, attention
    over half of a row of 45 tokens (12 x width x keys a layer). The adapter's own are left out."""
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    width, layers, wide = config["hidden_size"], config["num_hidden_layers"], config["intermediate_size"]
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    head = config.get("head_dim") or width // heads
    layer = width * head * (2 * heads + 2 * groups) + 3 * width * wide
    output = width * config["vocab_size"] * run["predicted_share"]
    return float(4 * (layers * layer + output) + 12 * layers * heads * head * 22)


def kernel_kinds(profiler: Any) -> dict[str, float]:
    """Milliseconds by kind of kernel. The order of the kinds decides where a name fits two of them."""
    found = dict.fromkeys([*_KINDS, "other kernels"], 0.0)
    for event in profiler.key_averages():
        spent = float(getattr(event, "self_device_time_total", 0.0)) / 1e3
        name = event.key.lower()
        order = ("attention", "copies", "fused elementwise", "matrix products")
        kind = next((kind for kind in order if any(part in name for part in _KINDS[kind])), "other kernels")
        found[kind] += spent
    return found
