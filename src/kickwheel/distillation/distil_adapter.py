"""Sequence-level distillation over a closed set of candidate frames (white paper F12), with PEFT.

The student's score s_c of a candidate is the *sum* of the log-probabilities of its completion tokens, so that softmax(s) is
the student's own posterior over the closed set. (The mean would make every distribution so flat that a target could only
be met by making the other frames absurd.) With the targets q and the temperature T of Hinton et al. 2015
(arXiv 1503.02531), q_T ~ q^(1/T) and p_T = softmax(s / T), a case costs

    (1 - h) * T^2 * KL(q_T || p_T)  +  h * weight * (-s_best)

in nats, where ``best`` is the candidate with the highest target and h the share of the hard label; a replayed old row costs
-s. A batch's loss is their sum over the completion tokens of best candidates and old rows, which keeps it on the scale of
tuning's cross-entropy.

With ``token_kl`` above 0 that weight times the term of :mod:`~kickwheel.distillation.token_kl_adapter` is added: a causal
teacher with the student's own tokens says what it would have written at each place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.distillation.mixing import replayed_rows
from kickwheel.distillation.token_kl_adapter import FrozenTeacher, token_kl
from kickwheel.distillation.token_teacher_adapter import FIELD, refuse_other_tokens
from kickwheel.errors import InputError, StageFailed
from kickwheel.settings import DistillationSettings
from kickwheel.tuning.accelerator_adapter import acceleration_of
from kickwheel.tuning.batch_adapter import completion_logits, completion_logprobs, logprobs_of
from kickwheel.tuning.encoding import Example, FrameEncoder
from kickwheel.tuning.loop_adapter import LossOf
from kickwheel.tuning.model_adapter import load_tokenizer
from kickwheel.tuning.ports import Progress, TrainedAdapter
from kickwheel.tuning.trainer_adapter import train_adapter
from schemas.feedback import DistillationRow, TokenTeacher
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance

if TYPE_CHECKING:
    import torch


class PeftDistiller:
    """A :class:`~kickwheel.distillation.ports.Distiller` on this machine's processor, or its GPU."""

    def distil(
        self,
        rows: Sequence[DistillationRow],
        replay: Sequence[Utterance],
        plan: LoraPlan,
        settings: DistillationSettings,
        *,
        base_path: Path,
        parent: Path,
        out: Path,
        progress: Progress | None = None,
        token_teacher: TokenTeacher | None = None,
    ) -> TrainedAdapter:
        """See :class:`~kickwheel.distillation.ports.Distiller`."""
        if not rows:
            raise StageFailed("there is nothing to distil: no case has a candidate that feedback speaks for")
        objective, speed = f"distillation T={settings.temperature} h={settings.hard_label_weight}", None
        teacher = _frozen(settings, token_teacher, base_path)
        if teacher is not None:
            objective += f" token_kl={settings.token_kl} teacher={teacher.sha256}"
            speed = acceleration_of(base_path, plan, fault="a teacher reads the rows too, whatever its layers are")
        tokenizer = load_tokenizer(base_path)
        encoder = FrameEncoder(tokenizer)
        old = replayed_rows(replay, len(rows), settings.replay_share, plan.seed)
        return train_adapter(
            [case_example(row, encoder) for row in rows] + [encoder.labelled(row) for row in old],
            plan,
            _loss(settings, teacher),
            tokenizer=tokenizer,
            base_path=base_path,
            out=out,
            parent=parent,
            progress=progress,
            objective=objective,
            acceleration=speed,
        )


def _frozen(settings: DistillationSettings, teacher: TokenTeacher | None, base_path: Path) -> FrozenTeacher | None:
    if settings.token_kl == 0:
        return None
    if teacher is None:
        raise InputError("distillation.token_kl is above 0, and no teacher was given", field=FIELD)
    refuse_other_tokens(teacher, base_path)
    return FrozenTeacher(teacher)


def _loss(settings: DistillationSettings, teacher: FrozenTeacher | None) -> LossOf:
    """The loss of a step: of whole frames, and of tokens where there is a teacher for them."""
    temperature, hard = settings.temperature, settings.hard_label_weight

    def of_frames(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        logprobs, mask = completion_logprobs(model, batch)
        return distillation_loss(logprobs, mask, batch, temperature=temperature, hard=hard)

    if teacher is None:
        return of_frames

    def of_frames_and_tokens(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        logits = completion_logits(model, batch)
        frames = distillation_loss(*logprobs_of(logits, batch["labels"]), batch, temperature=temperature, hard=hard)
        return frames + settings.token_kl * token_kl(logits, teacher.logits(batch), batch, temperature=temperature)

    return of_frames_and_tokens


def case_example(row: DistillationRow, encoder: FrameEncoder) -> Example:
    """A case as one example: a sequence a candidate frame, with its target."""
    return Example(
        sequences=tuple(encoder.sequence(row.text, candidate.frame) for candidate in row.candidates),
        target=tuple(candidate.target for candidate in row.candidates),
        weight=row.weight,
    )


def distillation_loss(
    logprobs: torch.Tensor, mask: torch.Tensor, batch: dict[str, torch.Tensor], *, temperature: float, hard: float
) -> torch.Tensor:
    """Loss of a batch (see the module). ``logprobs`` and ``mask`` (S, K) of :func:`completion_logprobs`; ``batch`` of
    :func:`~kickwheel.tuning.batch_adapter.collate`: an example with one sequence is a replayed row."""
    import torch

    scores, lengths = logprobs.sum(dim=1), mask.sum(dim=1)
    losses, tokens = [], []
    for index, weight in enumerate(batch["weight"]):
        mine = (batch["example"] == index).nonzero().squeeze(1)
        target = batch["target"][mine]
        best = mine[target.argmax()]
        tokens.append(lengths[best])
        if len(mine) == 1:
            losses.append(-scores[best])
        else:
            soft = softened_kl(scores[mine], target, temperature)
            losses.append((1 - hard) * soft - hard * weight * scores[best])
    return torch.stack(losses).sum() / torch.stack(tokens).sum()


def softened_kl(scores: torch.Tensor, target: torch.Tensor, temperature: float) -> torch.Tensor:
    """T^2 * KL(q_T || p_T) of one closed set: ``scores`` and ``target`` (candidates,). T^2 keeps the gradient's size
    independent of T, as a softened softmax's gradient falls with 1 / T^2."""
    import torch

    soft = torch.log_softmax(target.clamp_min(1e-12).log() / temperature, dim=0)
    student = torch.log_softmax(scores / temperature, dim=0)
    return temperature**2 * (soft.exp() * (soft - student)).sum()
