"""Facts of a base model that a plan and a recipe need, without loading it; and the threads that compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from schemas.student import StudentKind
from schemas.utterance import Utterance

_SAMPLE = 200


def count_weights(folder: Path) -> int:
    """Numbers in the folder's safetensors, from their headers."""
    from safetensors import safe_open

    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="numpy") as file:
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    return total


def mean_tokens(folder: Path, rows: Sequence[Utterance], kind: StudentKind) -> float:
    """Mean length of the first rows in the base's own tokens: prompt and completion, or the text alone for an encoder."""
    sample = [row for row in rows[:_SAMPLE] if row.frame is not None]
    if not sample:
        return 0.0
    if kind == "encoder":
        from kickwheel.embedding.encoder_adapter import load_encoder_tokenizer

        lengths = [len(ids) for ids in load_encoder_tokenizer(folder)([row.text for row in sample])["input_ids"]]
    else:
        from kickwheel.tuning.encoding import FrameEncoder
        from kickwheel.tuning.model_adapter import load_tokenizer

        encoder = FrameEncoder(load_tokenizer(folder))
        lengths = [encoder.labelled(row).tokens for row in sample]
    return sum(lengths) / len(lengths)


def threads() -> int:
    """Threads that torch computes with."""
    import torch

    return torch.get_num_threads()


def use_threads(count: int) -> None:
    """Compute with as many: sums are rounded in another order with another number."""
    import torch

    torch.set_num_threads(count)
