"""The encoder student's training loop: accelerate's, over batches that were planned before, and taken up again after a kill.

On several processes each takes its share of every batch, so that a step is the same step, whatever their number. What dropout
draws depends on the seed, the step and the process alone. Checkpoints are safetensors and JSON; a folder is renamed into place
when it is whole. SIGTERM ends the loop at the next step, with a checkpoint.
"""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.errors import StageFailed
from kickwheel.tuning.convergence import rate_share
from kickwheel.tuning.encoder_net_adapter import own_parameters
from kickwheel.tuning.guard_adapter import GuardHook, forget_best
from kickwheel.tuning.loop_adapter import LOSS_POINTS, stop_on_sigterm
from kickwheel.tuning.model_adapter import compute_dtype
from kickwheel.tuning.ports import Progress
from schemas.student import EncoderStudentPlan
from schemas.training import GuardEvent
from schemas.tuning import LossPoint

if TYPE_CHECKING:
    import torch

CHECKPOINTS = 10
"""In a whole training; one takes 0.1 s for a small encoder with LoRA."""
_CLIP = 1.0
_STATE, _WEIGHTS, _OPTIMISER = "state.json", "weights.safetensors", "optimiser.safetensors"

LossOf = Callable[[Any, Sequence[int], Sequence[int]], "torch.Tensor"]
"""From network, this process's rows of a batch and all rows of the batch to this process's share of the mean loss."""


@dataclass(frozen=True)
class EncoderLoopResult:
    """What came of a loop."""

    losses: tuple[LossPoint, ...]
    seconds: float
    steps: int
    events: tuple[GuardEvent, ...]
    validation: tuple[tuple[int, float], ...]
    is_main: bool
    """Whether this process is the one that writes the artifact."""


def run_encoder_loop(
    net: Any,
    batches: Sequence[Sequence[int]],
    tokens_through: Sequence[int],
    plan: EncoderStudentPlan,
    loss_of: LossOf,
    *,
    work: Path,
    hook: Callable[[Any], GuardHook],
    progress: Progress | None = None,
) -> EncoderLoopResult:
    """Train ``net`` in place. ``work`` holds the checkpoints; the last whole one in it is taken up again.

    Args:
        hook: makes the guard of the network.

    Raises:
        StageFailed: a loss is no number, or there are more processes than rows in a batch.
        SystemExit: SIGTERM came, and a checkpoint was written; a handler that was installed before is asked first.
    """
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(
        cpu=net.intent_deep.weight.device.type == "cpu", mixed_precision="bf16" if compute_dtype() == torch.bfloat16 else "no"
    )
    world, rank = accelerator.num_processes, accelerator.process_index
    if world > min(map(len, batches)):
        raise StageFailed(f"{world} processes cannot share a batch of {plan.batch_size}: raise KICKWHEEL_ENCODER__BATCH_SIZE")
    forget_best(work)
    guard = hook(net)
    optimiser = torch.optim.AdamW(_groups(net, plan), weight_decay=plan.weight_decay)
    model, optimiser = accelerator.prepare(net, optimiser)
    steps, warmup = len(batches), max(1, round(plan.warmup_share * len(batches)))
    losses: list[LossPoint] = []
    sums = [0.0, 0.0]  # of the losses since the last point: sum and count
    started, before, done = time.monotonic(), 0.0, 0
    if (checkpoint := last_checkpoint(work)) is not None:
        state = _load(checkpoint, net, optimiser)
        done, before = state["step"], state["seconds"]
        losses, sums = [LossPoint.model_validate(point) for point in state["losses"]], state["sums"]
        guard.load(checkpoint)
    every, told = max(1, steps // CHECKPOINTS), max(1, steps // LOSS_POINTS)
    stop = threading.Event()
    net.train()
    with stop_on_sigterm(stop):
        for step in range(done + 1, steps + 1):
            torch.manual_seed((plan.seed * 1_000_003 + step) * 1_009 + rank)
            share = guard.factor * rate_share(step - 1, steps, plan.decay, plan.decay_steps, warmup)
            share = share or guard.factor / warmup  # the first step of the warm-up
            for group in optimiser.param_groups:
                group["lr"] = group["peak"] * share
            batch = batches[step - 1]
            with accelerator.autocast():
                loss = loss_of(model, batch[rank::world], batch)
            if not math.isfinite(loss.item()):
                raise StageFailed(f"the loss of step {step} is {loss.item()}: lower the learning rate {plan.learning_rate:g}")
            optimiser.zero_grad(set_to_none=True)
            accelerator.backward(loss * world)  # gradients are averaged over processes; the loss is a share of the mean
            norm = accelerator.clip_grad_norm_(net.parameters(), _CLIP)
            optimiser.step()
            sums = [sums[0] + float(accelerator.reduce(loss.detach(), "sum")), sums[1] + 1]
            verdict = guard.after_step(step, float(norm), lambda: own_parameters(net))
            net.train()
            if step % told == 0 or step == steps or verdict == "stop":
                losses.append(LossPoint(step=step, tokens=tokens_through[step - 1], loss=sums[0] / sums[1]))
                sums = [0.0, 0.0]
            if progress is not None and accelerator.is_main_process:
                progress(step, steps)
            done = step
            if verdict == "stop":
                break
            if (step % every == 0 and step < steps) or stop.is_set():
                record = {
                    "step": step,
                    "seconds": before + time.monotonic() - started,
                    "sums": sums,
                    "losses": [point.model_dump() for point in losses],
                }
                if accelerator.is_main_process:
                    _save(work / f"checkpoint-{step}", net, optimiser, record, guard)
            if stop.is_set():
                break
    net.eval()
    seconds = before + time.monotonic() - started
    return EncoderLoopResult(tuple(losses), seconds, done, guard.events, tuple(guard.losses), bool(accelerator.is_main_process))


def last_checkpoint(work: Path) -> Path | None:
    """The last whole checkpoint."""
    found = [path for path in work.glob("checkpoint-*") if path.is_dir()]
    return max(found, key=lambda path: int(path.name.rpartition("-")[2])) if found else None


def _groups(net: Any, plan: EncoderStudentPlan) -> list[dict[str, Any]]:
    body = [tensor for name, tensor in own_parameters(net) if name.startswith("encoder.")]
    heads = [tensor for name, tensor in own_parameters(net) if not name.startswith("encoder.")]
    fast = plan.learning_rate * plan.head_rate
    return [
        {"params": body, "lr": plan.learning_rate, "peak": plan.learning_rate},
        {"params": heads, "lr": fast, "peak": fast},
    ]


def _save(target: Path, net: Any, optimiser: Any, record: dict[str, Any], guard: GuardHook) -> None:
    from safetensors.torch import save_file

    partial = target.with_name(f".{target.name}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save_file({name: tensor.detach().cpu().contiguous().clone() for name, tensor in own_parameters(net)}, partial / _WEIGHTS)
    state = optimiser.state_dict()["state"]
    moments = {f"{index}.{name}": value.detach().cpu().clone() for index, mine in state.items() for name, value in mine.items()}
    save_file(moments, partial / _OPTIMISER)
    (partial / _STATE).write_text(json.dumps(record), encoding="utf-8")
    guard.save(partial)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    for older in target.parent.glob("checkpoint-*"):
        if older != target:
            shutil.rmtree(older)


def _load(checkpoint: Path, net: Any, optimiser: Any) -> dict[str, Any]:
    import torch
    from safetensors.torch import load_file

    weights = load_file(checkpoint / _WEIGHTS)
    with torch.no_grad():
        for name, tensor in own_parameters(net):
            tensor.copy_(weights[name])
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in load_file(checkpoint / _OPTIMISER).items():
        index, _, name = key.partition(".")
        moments.setdefault(int(index), {})[name] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
    state: dict[str, Any] = json.loads((checkpoint / _STATE).read_text(encoding="utf-8"))
    return state
