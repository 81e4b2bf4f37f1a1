"""Loss terms of robust few-shot training (white paper F7), on tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


def soft_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """(rows,) nats; ``logits`` and ``targets`` (rows, classes), each target a distribution."""
    return -(targets * logits.log_softmax(-1)).sum(-1)


def supervised_contrastive(vectors: torch.Tensor, labels: torch.Tensor, temperature: float) -> torch.Tensor:
    """L_out of Khosla et al. 2020 (arXiv 2004.11362), the mean over rows that have a partner of their label; 0 without any.

    Args:
        vectors: (rows, width), each of length 1.
        labels: (rows,); rows of a negative label attract nobody.
    """
    import torch

    alone = torch.eye(len(labels), dtype=torch.bool, device=vectors.device)
    same = (labels[:, None] == labels[None, :]) & ~alone & (labels[:, None] >= 0)
    logits = (vectors @ vectors.T / temperature).masked_fill(alone, -torch.inf)
    logs = (logits - logits.logsumexp(1, keepdim=True)).masked_fill(alone, 0.0)
    partners = same.sum(1)
    if not bool((partners > 0).any()):
        return vectors.sum() * 0.0
    mean = (logs * same).sum(1)[partners > 0] / partners[partners > 0]
    return -mean.mean()


def dropout_entropy(head: Callable[[], torch.Tensor], passes: int) -> torch.Tensor:
    """Entropy of Monte-Carlo dropout passes, (rows,): -p log p, the mean over passes and classes, as the white paper has it.

    Added to the cross-entropy with beta, it presses on predictions that stay uncertain under dropout.

    Args:
        head: gives logits (rows, classes) under a new dropout mask each time.
    """
    import torch

    logs = torch.stack([head() for _ in range(passes)]).log_softmax(-1)
    return -(logs.exp() * logs).mean((0, 2))
