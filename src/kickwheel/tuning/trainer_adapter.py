"""LoRA training with PEFT: from labelled rows to an adapter folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.errors import StageFailed
from kickwheel.tuning.batch_adapter import completion_logprobs
from kickwheel.tuning.encoding import MAX_TOKENS, Example, FrameEncoder, short_enough
from kickwheel.tuning.loop_adapter import LossOf, run_loop
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, save_adapter, with_adapter, with_new_lora
from kickwheel.tuning.ports import Progress, TrainedAdapter
from kickwheel.tuning.schedule import plan_steps
from kickwheel.workspace import fingerprint, hash_file, write_atomically
from schemas.tuning import LoraPlan, LossPoint
from schemas.utterance import Utterance

if TYPE_CHECKING:
    import torch


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
    ) -> TrainedAdapter:
        """See :class:`~kickwheel.tuning.ports.LoraTrainer`. The loss is cross-entropy, the mean over completion tokens."""
        tokenizer = load_tokenizer(base_path)
        encoder = FrameEncoder(tokenizer)
        examples = [encoder.labelled(row) for row in rows]
        return train_adapter(
            examples,
            plan,
            token_cross_entropy,
            tokenizer=tokenizer,
            base_path=base_path,
            out=out,
            parent=parent,
            progress=progress,
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
) -> TrainedAdapter:
    """Plan, train, save: the way from examples to an adapter that tuning and distillation share.

    Checkpoints lie in ``.<out>.<fingerprint>`` beside ``out`` until the adapter is written; the record of the finished
    training in ``<out>.training.json``. ``objective`` names the loss and its settings where they are not in the plan.

    Raises:
        StageFailed: see :class:`~kickwheel.tuning.ports.LoraTrainer`.
        SystemExit: SIGTERM came, and a checkpoint was written.
    """
    if parent is not None:
        _check_parent(parent, plan)
    kept, left_out = short_enough(examples)
    steps = plan_steps([example.tokens for example in kept], plan)
    weights = hash_file(parent / "adapter_model.safetensors") if parent else None
    key = fingerprint(plan, objective, _identity(base_path), weights, [asdict(example) for example in kept])
    record = out.with_name(f"{out.name}.training.json")
    if (finished := _read_record(record, key, out)) is not None:
        return finished
    out.parent.mkdir(parents=True, exist_ok=True)
    work = out.with_name(f".{out.name}.{key[:16]}")
    _remove_others(work, f".{out.name}.*")

    from transformers import set_seed

    set_seed(plan.seed)
    base = load_base(base_path, tokenizer)
    if base.device.type == "cpu":
        base.set_attn_implementation("eager")  # on short rows a fifth faster than the fused kernel
    model = with_adapter(base, parent, trainable=True) if parent else with_new_lora(base, plan)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    result = run_loop(model, kept, steps, plan, loss_of, pad=pad, work=work, progress=progress)
    save_adapter(model, out)
    reasons = steps.reasons
    if left_out:
        reasons += (f"{left_out} rows were left out: longer than {MAX_TOKENS} tokens",)
    trained = TrainedAdapter(out, result.losses, steps.tokens, result.seconds, reasons)
    _write_record(record, key, trained)
    shutil.rmtree(work)
    return trained


def token_cross_entropy(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Mean negative log-probability of the completion tokens of a batch."""
    logprobs, mask = completion_logprobs(model, batch)
    return -logprobs.sum() / mask.sum()


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


def _remove_others(work: Path, pattern: str) -> None:
    """Checkpoints of trainings that nobody will take up again: other rows, another plan."""
    for folder in work.parent.glob(pattern):
        if folder != work and folder.is_dir():
            shutil.rmtree(folder)


def _write_record(path: Path, key: str, trained: TrainedAdapter) -> None:
    losses = [point.model_dump() for point in trained.losses]
    write_atomically(path, json.dumps({**asdict(trained), "folder": trained.folder.name, "losses": losses, "key": key}))


def _read_record(path: Path, key: str, out: Path) -> TrainedAdapter | None:
    """The finished training of just these examples and this plan, if its adapter is still there."""
    if not path.is_file() or not (out / "adapter_model.safetensors").is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["key"] != key:
        return None
    losses = tuple(LossPoint.model_validate(point) for point in data["losses"])
    return TrainedAdapter(out, losses, data["trained_tokens"], data["seconds"], tuple(data["reasons"]))
