"""Learning from beliefs: a row with several frames, each as likely as a teacher thinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kickwheel.tuning.batch_adapter import completion_logprobs

if TYPE_CHECKING:
    import torch


def soft_cross_entropy(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Cross-entropy with each example's ``target`` over its sequences, in nats a completion token.

    ``sum_e weight_e * sum_s target_s * -log p(s) / sum_e weight_e * sum_s target_s * tokens_s``: with one sequence an example
    and weights of 1 it is tuning's own loss (:func:`~kickwheel.tuning.trainer_adapter.token_cross_entropy`).
    """
    logprobs, mask = completion_logprobs(model, batch)
    share = batch["target"] * batch["weight"][batch["example"]]
    loss: torch.Tensor = -(logprobs.sum(dim=1) * share).sum() / (mask.sum(dim=1) * share).sum()
    return loss
