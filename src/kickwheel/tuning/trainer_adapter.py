"""LoRA training with PEFT: from labelled rows to an adapter folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.errors import StageFailed
from kickwheel.tuning.acceleration import Acceleration
from kickwheel.tuning.accelerator_adapter import acceleration_of
from kickwheel.tuning.batch_adapter import collate, completion_logprobs
from kickwheel.tuning.convergence import check_schedule
from kickwheel.tuning.encoding import MAX_TOKENS, Example, FrameEncoder, short_enough
from kickwheel.tuning.guard_adapter import GuardHook
from kickwheel.tuning.loop_adapter import LossOf, run_loop
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, save_adapter, save_model, with_adapter, with_new_lora
from kickwheel.tuning.ports import Progress, Surroundings, TrainedAdapter
from kickwheel.tuning.row_weights import row_weights
from kickwheel.tuning.schedule import plan_steps
from kickwheel.tuning.training_record import read_record, remove_others, write_record
from kickwheel.workspace import fingerprint, hash_file
from schemas.training import GuardPlan
from schemas.tuning import LoraPlan, Method
from schemas.utterance import Utterance

if TYPE_CHECKING:
    import torch


_VALIDATION_BATCH = 8
_WEIGHTS: dict[Method, str] = {"lora": "adapter_model.safetensors", "full": "model.safetensors"}


class PeftTrainer:
    """A :class:`~kickwheel.tuning.ports.LoraTrainer` on this machine's processor, or its GPU."""

    def train(
        self,
        rows: Sequence[Utterance],
        plan: LoraPlan,
        *,
        base_path: Path,
        out: Path,
        parent: Path | None = None,
        progress: Progress | None = None,
        around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    ) -> TrainedAdapter:
        """See :data:`~kickwheel.tuning.ports.LoraTrainer`. The loss is cross-entropy, the mean over completion tokens, each
        with the weight of its row."""
        tokenizer = load_tokenizer(base_path)
        encoder = FrameEncoder(tokenizer)
        weights = row_weights(rows, around.robust).tolist()
        pairs = zip(rows, weights, strict=True)
        examples = [replace(encoder.labelled(row), weight=weight) for row, weight in pairs]
        same = len(set(weights)) <= 1
        return train_adapter(
            examples,
            plan,
            token_cross_entropy if same else weighted_cross_entropy,
            tokenizer=tokenizer,
            base_path=base_path,
            out=out,
            parent=parent,
            progress=progress,
            objective="" if same else "rows weighted",
            around=around,
        )


def train_adapter(
    examples: Sequence[Example],
    plan: LoraPlan,
    loss_of: LossOf,
    *,
    tokenizer: Any,
    base_path: Path,
    out: Path,
    parent: Path | None,
    progress: Progress | None = None,
    objective: str = "",
    around: Surroundings = Surroundings(guard=GuardPlan(action="off")),  # noqa: B008 - frozen
    acceleration: Acceleration | None = None,
) -> TrainedAdapter:
    """Plan, train, save: the way from examples to an adapter that tuning and distillation share.

    Checkpoints lie in ``.<out>.<fingerprint>`` beside ``out`` until the adapter is written; the record of the finished
    training in ``<out>.training.json``. ``objective`` names the loss and its settings where they are not in the plan.
    ``acceleration`` None: chosen from device, model and size.

    Raises:
        StageFailed: see :class:`~kickwheel.tuning.ports.LoraTrainer`.
        SystemExit: SIGTERM came, and a checkpoint was written.
    """
    if parent is not None:
        _check_parent(parent, plan)
    kept, left_out = short_enough(examples)
    speed = acceleration or acceleration_of(base_path, plan)
    steps = plan_steps([example.tokens for example in kept], plan, alike=not speed.fixed)
    weights = hash_file(parent / "adapter_model.safetensors") if parent else None
    watched = [FrameEncoder(tokenizer).labelled(row) for row in around.valid[: around.guard.rows]]
    if around.guard.action != "off":
        objective += around.guard.model_dump_json()
    key = fingerprint(plan, objective, _identity(base_path), weights, [asdict(example) for example in kept])
    record = out.with_name(f"{out.name}.training.json")
    if (finished := read_record(record, key, out, _WEIGHTS[plan.method])) is not None:
        return finished
    out.parent.mkdir(parents=True, exist_ok=True)
    work = out.with_name(f".{out.name}.{key[:16]}")
    remove_others(work, f".{out.name}.*")

    from transformers import set_seed

    set_seed(plan.seed)
    base = load_base(base_path, tokenizer)
    if base.device.type == "cpu":
        base.set_attn_implementation("eager")  # on short rows a fifth faster than the fused kernel
    if plan.method == "full":
        model = base.float()  # in bf16 AdamW's small steps would be rounded away
    else:
        model = with_adapter(base, parent, trainable=True) if parent else with_new_lora(base, plan)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    hook = GuardHook(
        around.guard,
        steps.steps,
        (lambda: validation_loss(model, watched, pad)) if watched else None,
        work,
        keeps_best=plan.method == "lora",
        every=1 if base.device.type == "cpu" else 10,
    )
    result = run_loop(model, kept, steps, plan, loss_of, pad=pad, work=work, progress=progress, hook=hook, acceleration=speed)
    if not result.is_main:
        return TrainedAdapter(out, result.losses, steps.tokens, result.seconds)
    if plan.method == "full":
        save_model(model, tokenizer, out)
    else:
        save_adapter(model, out)
    reasons = steps.reasons + speed.reasons
    if left_out:
        reasons += (f"{left_out} rows were left out: longer than {MAX_TOKENS} tokens",)
    before = check_schedule(
        steps=steps.steps,
        decay=plan.decay,
        decay_steps=plan.decay_steps,
        warmup_steps=steps.warmup_steps,
        passes=sum(map(len, steps.batches)) / len(kept),
        plan=around.guard,
    )
    tokens = steps.tokens_through[result.steps - 1]
    trained = TrainedAdapter(out, result.losses, tokens, result.seconds, reasons, (*before, *hook.events), tuple(hook.losses))
    write_record(record, key, trained)
    shutil.rmtree(work, ignore_errors=True)
    return trained


def token_cross_entropy(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Mean negative log-probability of the completion tokens of a batch."""
    logprobs, mask = completion_logprobs(model, batch)
    return -logprobs.sum() / mask.sum()


def weighted_cross_entropy(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The same with the weight of each token's row: rows of a weight of 0 teach nothing."""
    logprobs, mask = completion_logprobs(model, batch)
    weights = batch["weight"][batch["example"]].unsqueeze(1)
    return -(weights * logprobs).sum() / (weights * mask).sum()


def validation_loss(model: Any, examples: Sequence[Example], pad: int) -> float:
    """Mean negative log-probability of the completion tokens of labelled rows, without dropout."""
    import torch

    was_training, total, count = model.training, 0.0, 0
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(examples), _VALIDATION_BATCH):
            batch = collate([asdict(example) for example in examples[start : start + _VALIDATION_BATCH]], pad)
            logprobs, mask = completion_logprobs(model, {name: tensor.to(model.device) for name, tensor in batch.items()})
            total, count = total - logprobs.sum().item(), count + int(mask.sum())
    model.train(was_training)
    return total / count


def _identity(base_path: Path) -> list[object]:
    """What tells one base from another without reading gigabytes of weights."""
    sizes = sorted((path.name, path.stat().st_size) for path in base_path.glob("*.safetensors"))
    return [hash_file(base_path / "config.json"), sizes]


def _check_parent(parent: Path, plan: LoraPlan) -> None:
    """A parent of another shape cannot go on under this plan.

    Raises:
        StageFailed: says what differs.
    """
    path = parent / "adapter_config.json"
    if not path.is_file():
        raise StageFailed(f"cannot go on from {parent}: it has no adapter_config.json")
    config = json.loads(path.read_text(encoding="utf-8"))
    pairs = {
        "r": (config.get("r"), plan.r),
        "alpha": (config.get("lora_alpha"), plan.alpha),
        "target_modules": (sorted(config.get("target_modules") or ()), sorted(plan.target_modules)),
    }
    if differing := [f"{name} {has} (the plan says {wants})" for name, (has, wants) in pairs.items() if has != wants]:
        raise StageFailed(f"cannot go on from adapter {parent}: it has {', '.join(differing)}")
