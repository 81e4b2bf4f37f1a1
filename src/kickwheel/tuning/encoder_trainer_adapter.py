"""Trains the encoder student: heads that begin as a probe, LoRA or all of the encoder, intent and tags in one loss."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kickwheel.errors import StageFailed
from kickwheel.probe.embedding_probe import EmbeddingProbe, SelfTraining
from kickwheel.tuning.convergence import check_schedule
from kickwheel.tuning.encoder import EncoderPlan, SoftRows
from kickwheel.tuning.encoder_batches import plan_batches
from kickwheel.tuning.encoder_features import Labels, common_words, tag_columns
from kickwheel.tuning.encoder_loop_adapter import run_encoder_loop
from kickwheel.tuning.encoder_net_adapter import Encoded, Reader, ReadText, build_net, features_of, start_heads
from kickwheel.tuning.encoder_student_adapter import WEIGHTS, save_student
from kickwheel.tuning.guard_adapter import GuardHook
from kickwheel.tuning.ports import Progress, Surroundings, TrainedAdapter
from kickwheel.tuning.robust_losses_adapter import dropout_entropy, soft_cross_entropy, supervised_contrastive
from kickwheel.tuning.row_weights import row_weights, smoothed, smoothings
from kickwheel.tuning.training_record import read_record, remove_others, write_record
from kickwheel.workspace import fingerprint, hash_file
from schemas.student import EncoderRecord, EncoderStudentPlan
from schemas.task import TaskCatalog
from schemas.training import RobustPlan
from schemas.utterance import Utterance

if TYPE_CHECKING:
    import torch

_READ_BATCH = 128
_TAGGER_RATE, _TAGGER_PASSES, _TAGGER_BATCH = 1e-2, 15, 16
"""Of the linear tagger that the tag head begins as; as many passes as the probe's tagger makes, nearly."""


class EncoderStudentTrainer:
    """A :class:`~kickwheel.tuning.ports.StudentTrainer` on this machine's processor, its GPU, or several of them."""

    def train(
        self,
        rows: Sequence[Utterance],
        plan: EncoderStudentPlan,
        *,
        base_path: Path,
        out: Path,
        parent: Path | None = None,
        progress: Progress | None = None,
        around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    ) -> TrainedAdapter:
        """See :class:`~kickwheel.tuning.ports.StudentTrainer`. It starts from its base: there is no parent."""
        if parent is not None:
            raise StageFailed("the encoder student always starts from its base: it takes no parent")
        labelled = _labelled(rows)
        pool = list(around.pool) if plan.self_training else []
        base_sha = hash_file(base_path / "model.safetensors")
        key = fingerprint(plan, around.robust, around.guard, base_sha, *labelled, *around.valid, list(around.pool))
        record = out.with_name(f"{out.name}.training.json")
        if (finished := read_record(record, key, out, WEIGHTS)) is not None:
            return finished
        out.parent.mkdir(parents=True, exist_ok=True)
        work = out.with_name(f".{out.name}.{key[:16]}")
        remove_others(work, f".{out.name}.*")

        import torch

        torch.manual_seed(plan.seed)
        labels = Labels.of(labelled)
        common = common_words([*(row.text for row in labelled), *around.pool])
        reader = Reader(base_path, plan.max_tokens)
        net = build_net(base_path, plan, labels)
        lesson = make_lesson(net, reader, labelled, pool, labels, common, plan, around.robust)
        batches = lesson.batches(plan)
        through = np.cumsum([sum(len(lesson.texts[row].pieces) for row in batch) for batch in batches]).tolist()
        loss = FrameLoss(lesson, around.robust, plan, reader)
        result = run_encoder_loop(
            net,
            batches,
            through,
            plan,
            loss.share_of_mean,
            work=work,
            hook=lambda made: GuardHook(
                around.guard,
                len(batches),
                _validator(made, reader, around.valid, labels, common, plan) if around.valid else None,
                work,
                keeps_best=plan.method == "lora",
            ),
            progress=progress,
        )
        if not result.is_main:
            return TrainedAdapter(out, result.losses, through[result.steps - 1], result.seconds)
        made = EncoderRecord(
            plan=plan,
            base_sha256=base_sha,
            base_licence=around.base_licence,
            train_sha256=around.train_sha256,
            intents=labels.intents,
            tags=labels.tags,
            common_words=common,
            catalog=around.catalog or TaskCatalog(domain="unknown", tasks=()),
        )
        save_student(net, reader, made, out)
        passes = sum(map(len, batches)) / len(lesson.texts)
        warmup = max(1, round(plan.warmup_share * len(batches)))
        before = check_schedule(
            steps=len(batches),
            decay=plan.decay,
            decay_steps=plan.decay_steps,
            warmup_steps=warmup,
            passes=passes,
            plan=around.guard,
        )
        reasons = (
            f"{len(batches)} steps of {plan.batch_size}: {passes:.1f} passes over {len(lesson.texts)} rows",
            f"{warmup} warm-up steps, {plan.decay} decay from {plan.learning_rate:g} to 0",
            f"arms that are on: {', '.join(around.robust.arms) or 'none'}",
        )
        trained = TrainedAdapter(
            out,
            result.losses,
            through[result.steps - 1],
            result.seconds,
            reasons,
            (*before, *result.events),
            result.validation,
        )
        write_record(record, key, trained)
        shutil.rmtree(work, ignore_errors=True)
        return trained


@dataclass(frozen=True)
class Lesson:
    """Rows as the loop takes them, labelled ones first.

    Args:
        intents: column of each row's gold intent, -1 where nobody gave one.
        targets: (rows, intents) distributions.
        weights: (rows,).
        tags: of each row's tokens, columns; empty where nobody gave them.
        features: of each row's tokens, hashed, given its gold intent.
    """

    texts: list[ReadText]
    ngrams: NDArray[np.float32]
    intents: NDArray[np.int64]
    targets: NDArray[np.float32]
    weights: NDArray[np.float32]
    tags: list[list[int]]
    features: list[list[list[int]]]

    def batches(self, plan: EncoderStudentPlan) -> list[list[int]]:
        """Rows of each step; see :func:`~kickwheel.tuning.encoder_batches.plan_batches`."""
        shape = EncoderPlan(epochs=plan.epochs, batch_size=min(plan.batch_size, len(self.texts)), seed=plan.seed)
        lengths = [len(text.pieces) for text in self.texts]
        return [batch.tolist() for batch in plan_batches(lengths, self.intents >= 0, self.weights, shape)]


def make_lesson(
    net: Any,
    reader: Reader,
    rows: Sequence[Utterance],
    pool: Sequence[str],
    labels: Labels,
    common: dict[str, int],
    plan: EncoderStudentPlan,
    robust: RobustPlan,
) -> Lesson:
    """Rows, and pool texts with what a probe on the same rows believes of them; the net's intent head becomes that probe."""
    labelled = _labelled(rows)
    frames = [row.frame for row in labelled if row.frame]
    every = [*(row.text for row in labelled), *pool]
    texts, ngrams = reader.read(every), reader.ngrams(every)
    columns = [labels.intents.index(frame.intent) for frame in frames]
    vectors = pooled_vectors(net, reader, texts)
    if plan.lexical:
        vectors = np.concatenate([vectors, ngrams], axis=1)
    mine, others = vectors[: len(rows)], vectors[len(rows) :]
    probe = EmbeddingProbe.fit(
        mine, columns, count=len(labels.intents), unlabelled=others if len(others) else None, plan=SelfTraining()
    )
    start_heads(net, probe.weights, probe.biases)
    soft = SoftRows.of(every[: len(rows)], columns, len(labels.intents), list(pool), probe.probabilities(others))
    targets, weights = soft.targets.copy(), soft.weights.copy()
    targets[: len(rows)] = smoothed(targets[: len(rows)], smoothings(labelled, robust))
    weights[: len(rows)] *= row_weights(labelled, robust)
    pairs = list(zip(texts, frames, strict=False))
    lesson = Lesson(
        texts,
        ngrams,
        np.array([*columns, *[-1] * len(pool)], dtype=np.int64),
        targets,
        weights,
        [tag_columns(text.tokens, frame, labels) for text, frame in pairs] + [[] for _ in pool],
        [features_of([text], [frame.intent], common) for text, frame in pairs] + [[] for _ in pool],
    )
    start_tags(net, reader, lesson, len(rows), plan.seed)
    return lesson


def start_tags(net: Any, reader: Reader, lesson: Lesson, count: int, seed: int) -> None:
    """Let the tag head begin as a tagger on the frozen encoder's tokens, as the intent head begins as a probe.

    Over the first ``count`` rows, whose tokens are encoded once; the rest is a linear model.
    """
    import torch
    from torch.nn.functional import cross_entropy

    net.eval()
    vectors: list[torch.Tensor] = []
    with torch.no_grad():
        for start in range(0, count, _READ_BATCH):
            mine = lesson.texts[start : min(count, start + _READ_BATCH)]
            tokens = net.encode(reader.padded(mine), [text.places for text in mine]).tokens
            vectors += tokens.split([len(text.tokens) for text in mine])
    head = [tensor for name, tensor in net.named_parameters() if name.startswith("tag_")]
    optimiser = torch.optim.AdamW(head, lr=_TAGGER_RATE, weight_decay=0.0)
    rng = np.random.default_rng(seed)
    for _ in range(_TAGGER_PASSES):
        order = [int(row) for row in rng.permutation(count) if lesson.tags[row]]
        for start in range(0, len(order), _TAGGER_BATCH):
            batch = order[start : start + _TAGGER_BATCH]
            tokens = torch.cat([vectors[row] for row in batch])
            features = [one for row in batch for one in lesson.features[row]]
            gold = torch.tensor([tag for row in batch for tag in lesson.tags[row]], device=tokens.device)
            loss = cross_entropy(net.tags(Encoded(tokens, tokens), features), gold)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    net.zero_grad(set_to_none=True)


def pooled_vectors(net: Any, reader: Reader, texts: Sequence[ReadText]) -> NDArray[np.float32]:
    """(texts, width): the encoder's vectors as it stands."""
    import torch

    was_training, table = net.training, np.zeros((len(texts), net.intent_deep.in_features), dtype=np.float32)
    net.eval()
    order = sorted(range(len(texts)), key=lambda index: len(texts[index].pieces))
    with torch.inference_mode():
        for start in range(0, len(order), _READ_BATCH):
            batch = order[start : start + _READ_BATCH]
            mine = [texts[index] for index in batch]
            table[batch] = net.encode(reader.padded(mine), [[] for _ in mine]).pooled.cpu().numpy()
    net.train(was_training)
    return table


class FrameLoss:
    """Intent and tags in nats: of each row, cross-entropy of the intent plus ``slot_weight`` times the mean over its tags."""

    def __init__(self, lesson: Lesson, robust: RobustPlan, plan: EncoderStudentPlan, reader: Reader) -> None:
        self._lesson, self._robust, self._plan, self._reader = lesson, robust, plan, reader

    def share_of_mean(self, net: Any, rows: Sequence[int], whole: Sequence[int]) -> torch.Tensor:
        """The rows' part of the weighted mean over the whole batch that they are part of."""
        import torch
        from torch.nn.functional import cross_entropy

        lesson, robust = self._lesson, self._robust
        texts = [lesson.texts[row] for row in rows]
        # Rows without tags have tokens all the same: their places are left out, and so are their logits.
        places = [text.places if lesson.tags[row] else [] for row, text in zip(rows, texts, strict=True)]
        ngrams = torch.from_numpy(lesson.ngrams[list(rows)])
        features = [one for row in rows for one in lesson.features[row]]
        encoded, intents, tags = net(self._reader.padded(texts), places, ngrams, features)
        device = intents.device
        weights = torch.from_numpy(lesson.weights[list(rows)]).to(device)
        total = float(lesson.weights[list(whole)].sum())
        losses = soft_cross_entropy(intents.float(), torch.from_numpy(lesson.targets[list(rows)]).to(device))
        if robust.mc_passes and robust.mc_beta:
            losses = losses + robust.mc_beta * self._entropy(net, encoded, ngrams)
        loss = (losses * weights).sum() / total
        counts = [len(lesson.tags[row]) for row in rows]
        if self._plan.slot_weight and sum(counts):
            gold = torch.tensor([tag for row in rows for tag in lesson.tags[row]], device=device)
            tokens = torch.tensor(counts, device=device)
            of_tokens = torch.repeat_interleave(weights / tokens.clamp_min(1), tokens)
            of_tags = cross_entropy(tags.float(), gold, reduction="none") * of_tokens
            loss = loss + self._plan.slot_weight * of_tags.sum() / total
        if robust.contrastive:
            labels = torch.from_numpy(lesson.intents[list(rows)]).to(device)
            pull = supervised_contrastive(encoded.pooled.float(), labels, robust.contrastive_temperature)
            loss = loss + robust.contrastive * pull * len(rows) / len(whole)
        return loss

    def _entropy(self, net: Any, encoded: Encoded, ngrams: torch.Tensor) -> torch.Tensor:
        """Dropout before the head alone: ten passes through the encoder would cost ten times as much."""
        inner = getattr(net, "module", net)
        return dropout_entropy(lambda: inner.intents(encoded, ngrams).float(), self._robust.mc_passes)


def _validator(
    net: Any, reader: Reader, rows: Sequence[Utterance], labels: Labels, common: dict[str, int], plan: EncoderStudentPlan
) -> Any:
    """A function that gives the loss on those valid rows whose labels the student knows."""
    import torch

    known = set(labels.intents), set(labels.tags)
    kept = [
        row
        for row in _labelled(rows)
        if row.frame and row.frame.intent in known[0] and {f"B-{slot.name}" for slot in row.frame.slots} <= known[1]
    ]
    if not kept:
        return None
    texts = reader.read([row.text for row in kept])
    frames = [row.frame for row in kept if row.frame]
    lesson = Lesson(
        texts,
        reader.ngrams([row.text for row in kept]),
        np.array([labels.intents.index(frame.intent) for frame in frames], dtype=np.int64),
        np.eye(len(labels.intents), dtype=np.float32)[[labels.intents.index(frame.intent) for frame in frames]],
        np.ones(len(kept), dtype=np.float32),
        [tag_columns(text.tokens, frame, labels) for text, frame in zip(texts, frames, strict=True)],
        [features_of([text], [frame.intent], common) for text, frame in zip(texts, frames, strict=True)],
    )
    loss = FrameLoss(lesson, RobustPlan(), plan, reader)
    every = list(range(len(kept)))

    def validate() -> float:
        net.eval()
        with torch.inference_mode():
            total = math.fsum(
                float(loss.share_of_mean(net, every[start : start + _READ_BATCH], every))
                for start in range(0, len(every), _READ_BATCH)
            )
        net.train()
        return total

    return validate


def _labelled(rows: Sequence[Utterance]) -> list[Utterance]:
    """The rows themselves.

    Raises:
        StageFailed: there are none, or one has no label.
    """
    if not rows:
        raise StageFailed("there are no rows to train on")
    if missing := next((row for row in rows if row.frame is None), None):
        raise StageFailed(f"row {missing.id!r} has no label: only labelled rows can be trained on")
    return list(rows)
