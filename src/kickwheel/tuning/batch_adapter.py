"""Examples as tensors, and the log-probabilities that every loss here is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kickwheel.tuning.packed_batch_adapter import packed_logprobs

if TYPE_CHECKING:
    import torch


def collate(items: Sequence[dict[str, Any]], pad: int) -> dict[str, torch.Tensor]:
    """A batch of examples: their sequences one under another, padded on the right to L.

    ``input_ids`` and ``attention_mask`` (S, L); ``labels`` (S, K): the last K = L - (shortest prompt) positions, -100 wherever
    there is no completion; ``example`` (S,): the item that a sequence belongs to; ``target`` (S,); ``weight`` (items,).
    Padding on the left would leave rows of the attention without a single key, whose gradient is NaN in bf16.
    """
    import torch

    sequences = [(index, sequence) for index, item in enumerate(items) for sequence in item["sequences"]]
    length = max(len(sequence["prompt"]) + len(sequence["completion"]) for _, sequence in sequences)
    first = min(len(sequence["prompt"]) for _, sequence in sequences)
    input_ids = torch.full((len(sequences), length), pad)
    attention_mask = torch.zeros_like(input_ids)
    labels = torch.full((len(sequences), length - first), -100)
    for row, (_, sequence) in enumerate(sequences):
        prompt, completion = sequence["prompt"], sequence["completion"]
        end = len(prompt) + len(completion)
        input_ids[row, :end] = torch.tensor([*prompt, *completion])
        attention_mask[row, :end] = 1
        labels[row, len(prompt) - first : end - first] = torch.tensor(completion)
    return {
        "input_ids": input_ids,
        "attention_mask": attention_mask,
        "labels": labels,
        "example": torch.tensor([index for index, _ in sequences]),
        "target": torch.tensor([share for item in items for share in item["target"]]),
        "weight": torch.tensor([float(item["weight"]) for item in items]),
    }


def completion_logprobs(model: Any, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each completion token, 0 elsewhere, and the mask of completion tokens; both (S, K).

    Of a packed batch too (:mod:`kickwheel.tuning.packed_batch_adapter`). Only the last K positions are projected on the
    vocabulary: on a small model that projection is a third of the work.
    """
    if "ends" in batch:
        return packed_logprobs(model, batch)
    return logprobs_of(completion_logits(model, batch), batch["labels"])


def completion_logits(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Logits (S, K, V) in float32 of a padded batch: at each of the last K positions those that predict its token."""
    import torch

    labels, length = batch["labels"], batch["input_ids"].shape[1]
    # The token at a position is predicted one before it. Indices rather than a count: a slice of the hidden states is not
    # contiguous, and torch would then copy the whole output matrix once a row.
    before = torch.arange(length - labels.shape[1] - 1, length - 1, device=labels.device)
    output = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], logits_to_keep=before, use_cache=False)
    logits: torch.Tensor = output.logits.float()
    return logits


def logprobs_of(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each completion token, as :func:`completion_logprobs` gives them; ``labels`` (S, K)."""
    from torch.nn.functional import cross_entropy

    return -cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100, reduction="none"), labels != -100
