"""The training loop that tuning and distillation share: transformers' Trainer over batches that were planned before.

Checkpoints hold everything (weights, optimiser, schedule, random state), so that a training killed at any point ends in the
weights that it would have had anyway. SIGTERM ends it at the next step, with a checkpoint.
"""

from __future__ import annotations

import json
import math
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from kickwheel.errors import StageFailed
from kickwheel.tuning.acceleration import Acceleration
from kickwheel.tuning.accelerator_adapter import batch_maker, compile_layers, in_bf16
from kickwheel.tuning.encoding import Example
from kickwheel.tuning.guard_adapter import GuardHook
from kickwheel.tuning.ports import Progress
from kickwheel.tuning.schedule import StepPlan
from schemas.tuning import LoraPlan, LossPoint

if TYPE_CHECKING:
    import torch

LossOf = Callable[[Any, "dict[str, torch.Tensor]"], "torch.Tensor"]
"""From model and batch (see :func:`collate`) to the loss of one step."""

CHECKPOINTS = 20
"""In a whole training: a kill loses at most a twentieth. One takes about 0.1 s."""

LOSS_POINTS = 60

PADDED = Acceleration(packed=False)
"""As transformers does it by itself: for comparison, and where rows must not be packed."""

_WEIGHTS = ("adapter_model.safetensors", "model.safetensors")
_PARTS = ("optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")


@dataclass(frozen=True)
class LoopResult:
    """What came of a training loop."""

    losses: tuple[LossPoint, ...]
    seconds: float
    steps: int
    is_main: bool
    """Whether this process is the one that writes the artifact."""


def run_loop(
    model: Any,
    examples: Sequence[Example],
    steps: StepPlan,
    plan: LoraPlan,
    loss_of: LossOf,
    *,
    pad: int,
    work: Path,
    progress: Progress | None = None,
    hook: GuardHook | None = None,
    acceleration: Acceleration = PADDED,
) -> LoopResult:
    """Train ``model`` in place. ``work`` holds the checkpoints; the last complete one in it is taken up again.

    Raises:
        StageFailed: a loss is no number.
        SystemExit: SIGTERM came, and a checkpoint was written; a handler that was installed before is asked first.
    """
    import torch
    from torch import Generator
    from torch.utils.data import DataLoader
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    on_gpu = model.device.type != "cpu"
    batch_of = batch_maker(examples, steps.batches, acceleration, pad)
    if on_gpu:
        torch.backends.cuda.enable_cudnn_sdp(False)  # its gradients under a mask are not to be trusted: pytorch/pytorch 196678
    if acceleration.compiled:
        compile_layers(model)
    stop = threading.Event()
    norms: list[Any] = []
    started, seconds_before = time.monotonic(), 0.0

    class PlannedTrainer(Trainer):
        """Takes the planned batches and our loss; all else is transformers'."""

        def get_train_dataloader(self) -> DataLoader[Any]:
            # A generator of its own: the loader draws a number, which must not depend on whether we resumed.
            numbers = range(steps.steps)
            one_each = [[number] for number in numbers]
            return DataLoader(
                numbers,  # type: ignore[arg-type]
                batch_sampler=one_each,
                collate_fn=lambda chosen: batch_of(chosen[0]),
                generator=Generator(),
                pin_memory=on_gpu,
            )

        def floating_point_ops(self, inputs: dict[str, Any]) -> int:
            return 0  # nobody reads it, and counting a model's parameters takes milliseconds a step

        def compute_loss(
            self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            with in_bf16(model) if acceleration.autocast else nullcontext():
                loss = loss_of(model, inputs)
            step = self.state.global_step + 1
            # What is no number stays none, so that a look now and then finds it.
            if (step % acceleration.loss_every == 0 or step == steps.steps) and not math.isfinite(loss.item()):
                raise StageFailed(f"the loss of step {step} is {loss.item()}: lower the learning rate {plan.learning_rate:g}")
            return loss

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            return super().create_scheduler(plan.decay_steps or num_training_steps, optimizer)

        def _clip_grad_norm(self, model: Any) -> Any:
            norms[:] = [super()._clip_grad_norm(model)]  # type: ignore[no-untyped-call]
            return norms[0]

    class Watch(TrainerCallback):
        """Progress, the guard, the stop flag, and the time spent so far beside each checkpoint."""

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if progress is not None and state.is_world_process_zero:
                progress(state.global_step, steps.steps)
            if hook is not None and hook.looks(state.global_step):
                before = hook.factor
                verdict = hook.after_step(state.global_step, float(norms[0]), lambda: _trained(model))
                if verdict == "lower":
                    scheduler = kwargs["lr_scheduler"]
                    scheduler.base_lrs = [plan.learning_rate * hook.factor] * len(scheduler.base_lrs)
                    for group in kwargs["optimizer"].param_groups:
                        group["lr"] *= hook.factor / before
                control.should_training_stop |= verdict == "stop"
            if stop.is_set():
                control.should_save = control.should_training_stop = True

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            spent = seconds_before + time.monotonic() - started
            if hook is not None:
                hook.save(work / f"checkpoint-{state.global_step}")
            (work / f"checkpoint-{state.global_step}" / "seconds.json").write_text(json.dumps(spent), encoding="utf-8")

    arguments = TrainingArguments(
        output_dir=str(work),
        max_steps=steps.steps,
        per_device_train_batch_size=plan.batch_size,
        learning_rate=plan.learning_rate,
        lr_scheduler_type=plan.decay,
        warmup_steps=steps.warmup_steps,
        weight_decay=plan.weight_decay,
        seed=plan.seed,
        use_cpu=model.device.type == "cpu",
        save_steps=max(1, steps.steps // CHECKPOINTS),
        save_total_limit=2,
        logging_steps=max(1, steps.steps // LOSS_POINTS),
        logging_nan_inf_filter=False,  # it would report the mean of earlier losses in place of a NaN
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=on_gpu,
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # batches are small: spread over several GPUs they would only wait
    trainer = PlannedTrainer(model=model, args=arguments, train_dataset=list(examples), callbacks=[Watch()])
    trainer.remove_callback(PrinterCallback)  # stdout belongs to the command line
    checkpoint = last_checkpoint(work)
    if checkpoint is not None:
        seconds_before = _seconds(checkpoint)
        if hook is not None:
            hook.load(checkpoint)
    with stop_on_sigterm(stop):
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    losses = tuple(
        LossPoint(step=int(entry["step"]), tokens=steps.tokens_through[int(entry["step"]) - 1], loss=entry["loss"])
        for entry in trainer.state.log_history
        if "loss" in entry
    )
    seconds = seconds_before + time.monotonic() - started
    return LoopResult(losses, seconds, int(trainer.state.global_step), bool(trainer.is_world_process_zero()))


def _trained(model: Any) -> list[tuple[str, torch.Tensor]]:
    return [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]


def last_checkpoint(work: Path) -> Path | None:
    """The last complete checkpoint. What a kill left half written is removed: ``trainer_state.json`` is written last."""
    complete: list[tuple[int, Path]] = []
    for folder in work.glob("checkpoint-*"):
        if _is_complete(folder):
            complete.append((int(folder.name.rpartition("-")[2]), folder))
        else:
            shutil.rmtree(folder)
    return max(complete)[1] if complete else None


def _is_complete(folder: Path) -> bool:
    if not all((folder / part).is_file() for part in _PARTS) or not any((folder / part).is_file() for part in _WEIGHTS):
        return False
    try:
        json.loads((folder / _PARTS[-1]).read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        return False
    return True


def _seconds(checkpoint: Path) -> float:
    path = checkpoint / "seconds.json"
    try:
        return float(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, json.JSONDecodeError):
        return 0.0  # killed between the checkpoint and this file


@contextmanager
def stop_on_sigterm(stop: threading.Event) -> Iterator[None]:
    """SIGTERM sets the flag; when the block is done, whoever was to hear of it before does, or SystemExit is raised.

    Only the main thread may handle signals: elsewhere SIGTERM does what it did before, and the last checkpoint stands.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def remember(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = signal.signal(signal.SIGTERM, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
    if stop.is_set():
        if callable(before):
            before(signal.SIGTERM, None)
        raise SystemExit(128 + signal.SIGTERM)
