"""Acceleration at work: batches as it wants them, bf16, and compiled layers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kickwheel.tuning.acceleration import Acceleration, choose_acceleration
from kickwheel.tuning.batch_adapter import collate
from kickwheel.tuning.encoding import Example
from kickwheel.tuning.packed_batch_adapter import pack_examples, packed_batch, packed_steps
from kickwheel.tuning.packing import packing_fault
from schemas.tuning import LoraPlan

_GRAPHS = 64
"""Of one function that torch may compile before it gives up: a large model has that many layers."""


def acceleration_of(base_path: Path, plan: LoraPlan, *, fault: str | None = None) -> Acceleration:
    """What suits the base model in this folder on this machine. ``fault``: why rows must not be packed, whatever the model."""
    import torch
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(str(base_path), local_files_only=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    return choose_acceleration(device, fault=fault or packing_fault(config), tokens=plan.max_tokens, processes=processes)


def batch_maker(
    examples: Sequence[Example], batches: Sequence[Sequence[int]], acceleration: Acceleration, pad: int
) -> Callable[[int], dict[str, Any]]:
    """The tensors of a step, by its number from 0."""
    if not acceleration.packed:
        items = [asdict(example) for example in examples]
        return lambda step: collate([items[index] for index in batches[step]], pad)
    if acceleration.fixed:
        steps, shape = packed_steps(examples, batches)
        return lambda step: packed_batch([examples[index] for index in batches[step]], steps[step], pad, shape)

    def one_row(step: int) -> dict[str, Any]:
        chosen = [examples[index] for index in batches[step]]
        return packed_batch(chosen, pack_examples(chosen, None), pad)

    return one_row


@contextmanager
def in_bf16(model: Any) -> Iterator[None]:
    """Matrix products in bf16. PEFT would make float32 of every layer's input first, which costs more than the product."""
    import torch
    from peft.helpers import disable_input_dtype_casting

    kind = model.device.type
    with torch.autocast(kind, torch.bfloat16, enabled=model.dtype is torch.bfloat16), disable_input_dtype_casting(model):
        yield


def compile_layers(model: Any) -> None:
    """Each layer is compiled by itself, at its first use: they are alike, so that the first one's code serves them all."""
    import torch

    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, _GRAPHS)
    body = model.get_base_model() if hasattr(model, "get_base_model") else model
    for layer in body.model.layers:
        layer.compile(dynamic=False)
