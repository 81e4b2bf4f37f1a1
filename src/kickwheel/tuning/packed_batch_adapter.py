"""Packed batches as tensors: every one of the same shape, so that a compiled model is compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kickwheel.tuning.encoding import Example, TokenSequence
from kickwheel.tuning.packing import Pack, first_fit, lay_out, shared_prefix

if TYPE_CHECKING:
    import torch

WIDTHS = (128, 256, 384, 512)
"""Tokens a row that are tried. Wider rows waste work on masked attention: at 512 tokens a twentieth of a small model's."""
_STEP = 128
"""Widths and counts of predicted tokens are rounded up to this: whole tiles of the matrix units. With an odd multiple of 64
cuDNN's attention gives gradients that are no numbers (pytorch/pytorch 196678; seen here with Qwen2.5-0.5B on an H200)."""


@dataclass(frozen=True)
class Shape:
    """Of every batch of a training: rows x width tokens, and at most ``predicted`` places whose logits are needed."""

    rows: int
    width: int
    predicted: int


def pack_examples(examples: Sequence[Example], width: int | None) -> list[Pack]:
    """The sequences of a step's examples in rows of at most ``width`` tokens; None: all in one row.

    An example's sequences stay together, since they share their prompt. One longer than ``width`` has a row of its own.
    """
    sequences, owners = _flat(examples)
    if width is None:
        return [lay_out(sequences, range(len(sequences)))]
    own = [lay_out(sequences, members) for members in owners]
    first = own[0].tokens
    common = min(shared_prefix(first.tolist(), pack.tokens.tolist()) for pack in own)
    bins = first_fit([len(pack.tokens) - common for pack in own], width - common)
    return [lay_out(sequences, [member for index in chosen for member in owners[index]]) for chosen in bins]


def fixed_shape(steps: Sequence[Sequence[Pack]]) -> Shape:
    """The smallest shape that holds every step."""
    rows = max(len(packs) for packs in steps)
    width = max(len(pack.tokens) for packs in steps for pack in packs)
    predicted = max(sum(len(np.unique(np.concatenate(pack.before))) for pack in packs) for packs in steps)
    return Shape(rows, -(-width // _STEP) * _STEP, -(-predicted // _STEP) * _STEP)


def packed_steps(examples: Sequence[Example], batches: Sequence[Sequence[int]]) -> tuple[list[list[Pack]], Shape]:
    """The packs of every step at the width that wastes least, and the shape that holds them all."""
    longest = max(_tree_size(example) for example in examples)
    widths = [width for width in WIDTHS if width >= longest] or [longest]
    sample = batches[:: max(1, len(batches) // 16)]
    best = min(widths, key=lambda width: _area(examples, sample, width))
    steps = [pack_examples([examples[index] for index in batch], best) for batch in batches]
    return steps, fixed_shape(steps)


def packed_batch(examples: Sequence[Example], packs: Sequence[Pack], pad: int, shape: Shape | None = None) -> dict[str, Any]:
    """Tensors of one step. B rows of L tokens, S sequences with at most K completion tokens, P places with logits.

    ``input_ids``, ``position_ids``, ``ends`` (B, L); ``keep`` (P,): places in the flattened rows whose logits are needed;
    ``place`` (S, K): where in ``keep`` each completion token is predicted; ``labels`` (S, K), -100 where there is none;
    ``example``, ``target``, ``weight`` as :func:`~kickwheel.tuning.batch_adapter.collate` has them. Without a shape the batch
    is as large as it must be.
    """
    import torch

    shape = shape or Shape(len(packs), max(len(pack.tokens) for pack in packs), 0)
    size = (shape.rows, shape.width)
    ids, positions = np.full(size, pad), np.zeros(size, dtype=np.int64)
    # What is no token sees itself alone: attention without a single key is no number.
    ends = np.tile(np.arange(1, shape.width + 1), (shape.rows, 1))
    for row, pack in enumerate(packs):
        end = len(pack.tokens)
        ids[row, :end], positions[row, :end], ends[row, :end] = pack.tokens, pack.positions, pack.ends
    places = [np.concatenate(pack.before) + row * shape.width for row, pack in enumerate(packs)]
    used, column = np.unique(np.concatenate(places), return_inverse=True)
    keep = np.zeros(max(shape.predicted, len(used)), dtype=np.int64)
    keep[: len(used)] = used
    lengths = [len(part) for pack in packs for part in pack.labels]
    rows = np.repeat([member for pack in packs for member in pack.members], lengths)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    labels = np.full((len(lengths), max(lengths)), -100)
    place = np.zeros_like(labels)
    labels[rows, columns] = np.concatenate([part for pack in packs for part in pack.labels])
    place[rows, columns] = column
    return {
        "input_ids": torch.from_numpy(ids),
        "position_ids": torch.from_numpy(positions),
        "ends": torch.from_numpy(ends),
        "keep": torch.from_numpy(keep),
        "place": torch.from_numpy(place),
        "labels": torch.from_numpy(labels),
        "example": torch.tensor([index for index, example in enumerate(examples) for _ in example.sequences]),
        "target": torch.tensor([share for example in examples for share in example.target]),
        "weight": torch.tensor([float(example.weight) for example in examples]),
    }


def attention_mask(ends: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(B, 1, L, L), to be added to the scores: 0 where a token may look, else the smallest number."""
    import torch

    place = torch.arange(ends.shape[1], device=ends.device)
    seen = (place[None, None, :] <= place[None, :, None]) & (place[None, :, None] < ends[:, None, :])
    mask = torch.zeros(seen.shape, dtype=dtype, device=ends.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


def hidden_states(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """(P, width): the last layer at the places ``keep``."""
    mask = attention_mask(batch["ends"], model.dtype)
    body = model.get_base_model() if hasattr(model, "get_base_model") else model
    output = body.model(input_ids=batch["input_ids"], position_ids=batch["position_ids"], attention_mask=mask, use_cache=False)
    states: torch.Tensor = output.last_hidden_state.flatten(0, 1).index_select(0, batch["keep"])
    return states


def packed_logprobs(model: Any, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each completion token, 0 elsewhere, and the mask of completion tokens; both (S, K), as
    :func:`~kickwheel.tuning.batch_adapter.completion_logprobs` gives them for a padded batch."""
    import torch

    body = model.get_base_model() if hasattr(model, "get_base_model") else model
    logits = body.lm_head(hidden_states(model, batch)).float()
    mask = batch["labels"] != -100
    labels, place = batch["labels"].clamp_min(0), batch["place"]
    # Not log_softmax over everything: it would hold a second table of P x vocabulary for the backward pass.
    scores = logits[place, labels] - torch.logsumexp(logits, dim=-1)[place]
    return torch.where(mask, scores, 0.0), mask


def _tree_size(example: Example) -> int:
    return len(lay_out(example.sequences, range(len(example.sequences))).tokens)


def _area(examples: Sequence[Example], batches: Sequence[Sequence[int]], width: int) -> int:
    shape = fixed_shape([pack_examples([examples[index] for index in batch], width) for batch in batches])
    return shape.rows * shape.width


def _flat(examples: Sequence[Example]) -> tuple[list[TokenSequence], list[list[int]]]:
    """All sequences one after another, and which of them each example has."""
    sequences: list[TokenSequence] = []
    owners: list[list[int]] = []
    for example in examples:
        owners.append(list(range(len(sequences), len(sequences) + len(example.sequences))))
        sequences += example.sequences
    return sequences, owners
