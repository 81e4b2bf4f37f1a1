"""Token-level distillation: at each completion token the student is pulled towards a teacher's whole next-token distribution.

With the logits z of student and teacher over the vocabulary and the temperature T of Hinton et al. 2015 (arXiv 1503.02531),
a completion token costs

    T^2 * KL(softmax(z_teacher / T) || softmax(z_student / T))

in nats. A batch's term is the mean over its completion tokens, each with the weight of its sequence: a candidate's share of
the target times the weight of its case; 1 for a replayed row.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.tuning.batch_adapter import completion_logits
from kickwheel.tuning.model_adapter import load_base, load_tokenizer
from schemas.feedback import TokenTeacher

if TYPE_CHECKING:
    import torch


class FrozenTeacher:
    """A causal model in this process, without gradients or dropout."""

    def __init__(self, teacher: TokenTeacher):
        self.sha256 = teacher.sha256
        self._folder = Path(teacher.path)

    @cached_property
    def _model(self) -> Any:
        import torch

        # Loaded when the first step asks, so that a finished training does not pay for it. Whatever is drawn meanwhile is none
        # of the student's numbers: a resumed training would go on with others.
        with torch.random.fork_rng():
            return load_base(self._folder, load_tokenizer(self._folder)).eval().requires_grad_(False)

    def logits(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """(S, K, V) of a padded batch: see :func:`~kickwheel.tuning.batch_adapter.completion_logits`.

        Raises:
            ModelUnavailable: at the first batch, if the folder holds no model that can be read.
            StageFailed: so too, if it has fewer embeddings than tokens.
        """
        import torch

        with torch.no_grad():
            return completion_logits(self._model, batch)


def token_kl(
    student: torch.Tensor, teacher: torch.Tensor, batch: dict[str, torch.Tensor], *, temperature: float
) -> torch.Tensor:
    """The term of a batch (see the module). ``student`` (S, K, V), ``teacher`` (S, K, W); ``batch`` of
    :func:`~kickwheel.tuning.batch_adapter.collate`.

    Where V and W differ (with the same tokenizer, only in how many embeddings pad it) both are distributions over the columns
    that they have in common.
    """
    import torch
    from torch.nn.functional import kl_div

    mask = batch["labels"] != -100
    share = batch["target"] * batch["weight"][batch["example"]]
    weight = share.unsqueeze(1).expand_as(mask)[mask]
    columns = min(student.shape[-1], teacher.shape[-1])
    ours, theirs = (torch.log_softmax(logits[mask][:, :columns] / temperature, dim=-1) for logits in (student, teacher))
    each = kl_div(ours, theirs, reduction="none", log_target=True).sum(dim=-1)
    term: torch.Tensor = temperature**2 * (weight * each).sum() / weight.sum()
    return term
