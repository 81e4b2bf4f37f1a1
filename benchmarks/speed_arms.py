"""The arms of the training speed benchmark: the product's loop, and transformers' Trainer as anyone would write it."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kickwheel.tuning.acceleration import COMPILE_FROM, Acceleration
from kickwheel.tuning.accelerator_adapter import acceleration_of
from kickwheel.tuning.encoding import Example, FrameEncoder
from kickwheel.tuning.loop_adapter import PADDED, run_loop
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, with_new_lora
from kickwheel.tuning.schedule import StepPlan, plan_steps
from kickwheel.tuning.trainer_adapter import token_cross_entropy
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance

_PROFILED = 5


@dataclass(frozen=True)
class Setting:
    """What every arm trains."""

    base: Path
    rows: Sequence[Utterance]
    plan: LoraPlan
    steps: int


def platform_of() -> str:
    """``cuda`` or ``cpu``."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def measured(setting: Setting, arm: str, warmup: int, *, profile: bool = False) -> dict[str, Any]:
    """Tokens a second of an arm after its warm-up, and what the whole of it took."""
    import torch

    torch.manual_seed(setting.plan.seed)
    started = time.monotonic()
    tokenizer = load_tokenizer(setting.base)
    encoder = FrameEncoder(tokenizer)
    examples = [encoder.labelled(row) for row in setting.rows]
    model = load_base(setting.base, tokenizer)
    clock = _Clock(warmup, profile and platform_of() == "cuda")
    pad = tokenizer.pad_token_id or 0
    with tempfile.TemporaryDirectory() as work:
        if arm == "plain":
            tokens, computed, predicted = _plain(setting, examples, with_new_lora(model, setting.plan), pad, clock, work)
        else:
            speed = _speed(setting, arm)
            steps = _planned(examples, setting, alike=not speed.fixed)
            if model.device.type == "cpu":
                model.set_attn_implementation("eager")
            wrapped = with_new_lora(model, setting.plan)
            run_loop(
                wrapped,
                examples,
                steps,
                setting.plan,
                token_cross_entropy,
                pad=pad,
                work=Path(work),
                progress=clock,
                acceleration=speed,
            )
            tokens, computed, predicted = _counted(examples, steps.batches, speed, clock)
    clock.close()
    return {
        "tokens_per_second": round(tokens / clock.seconds, 1),
        "computed_per_second": round(computed / clock.seconds, 1),
        "predicted_share": round(predicted / computed, 3),
        "steady_seconds": round(clock.seconds, 2),
        "step_milliseconds": round(1000 * clock.seconds / max(1, clock.steps), 1),
        "warm_up_seconds": round(clock.first - started, 1),
        "wall_seconds": round(time.monotonic() - started, 1),
        **({"kernels": clock.kernels} if clock.kernels else {}),
    }


def _speed(setting: Setting, arm: str) -> Acceleration:
    if arm in ("padded", "packed"):
        return PADDED if arm == "padded" else Acceleration()
    enough = setting.plan.model_copy(update={"max_tokens": max(COMPILE_FROM, setting.plan.max_tokens)})
    speed = acceleration_of(setting.base, enough)
    return replace(speed, compiled=False) if arm == "uncompiled" else speed


def _planned(examples: Sequence[Example], setting: Setting, *, alike: bool) -> StepPlan:
    lengths = [example.tokens for example in examples]
    enough = setting.plan.model_copy(update={"max_tokens": setting.steps * setting.plan.batch_size * max(lengths)})
    steps = plan_steps(lengths, enough, alike=alike)
    return replace(steps, batches=steps.batches[: setting.steps], tokens_through=steps.tokens_through[: setting.steps])


def _counted(
    examples: Sequence[Example], batches: Sequence[Sequence[int]], speed: Acceleration, clock: _Clock
) -> tuple[int, int, int]:
    """Tokens of the timed steps: of the rows, of the packs, and predicted ones."""
    from kickwheel.tuning.packed_batch_adapter import pack_examples, packed_steps

    timed = batches[clock.begin : clock.begin + clock.steps]
    tokens = sum(examples[index].tokens for batch in timed for index in batch)
    predicted = sum(len(s.completion) for batch in timed for index in batch for s in examples[index].sequences)
    if not speed.packed:
        return tokens, tokens, predicted
    if speed.fixed:
        packs = packed_steps(examples, timed)[0]
    else:
        packs = [pack_examples([examples[index] for index in batch], None) for batch in timed]
    return tokens, sum(len(pack.tokens) for step in packs for pack in step), predicted


def _plain(
    setting: Setting, examples: Sequence[Example], model: Any, pad: int, clock: _Clock, work: str
) -> tuple[int, int, int]:
    import torch
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

    size, rng = setting.plan.batch_size, random.Random(setting.plan.seed)
    order: list[int] = []
    while len(order) < size * setting.steps:
        order += rng.sample(range(len(examples)), len(examples))
    items = [examples[index].sequences[0] for index in order[: size * setting.steps]]

    def collate(chosen: list[int]) -> dict[str, torch.Tensor]:
        longest = max(items[k].tokens for k in chosen)
        ids = torch.full((len(chosen), longest), pad)
        mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
        for row, k in enumerate(chosen):
            first, end = len(items[k].prompt), items[k].tokens
            ids[row, :end] = torch.tensor([*items[k].prompt, *items[k].completion])
            labels[row, first:end] = torch.tensor(items[k].completion)
            mask[row, :end] = 1
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}

    class Watch(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            clock(state.global_step, setting.steps)

    class InOrder(Trainer):
        def get_train_dataloader(self) -> Any:
            return torch.utils.data.DataLoader(range(len(items)), batch_size=size, collate_fn=collate)  # type: ignore[arg-type]

    arguments = TrainingArguments(
        output_dir=work,
        max_steps=setting.steps,
        per_device_train_batch_size=size,
        learning_rate=setting.plan.learning_rate,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=platform_of() == "cpu",
    )
    trainer = InOrder(model=model, args=arguments, train_dataset=items, callbacks=[Watch()])
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    timed = items[size * clock.begin : size * (clock.begin + clock.steps)]
    tokens = sum(item.tokens for item in timed)
    return tokens, tokens, sum(len(item.completion) for item in timed)


class _Clock:
    """Called at the end of each step: times those after the warm-up, and looks at the kernels of the last few."""

    def __init__(self, warmup: int, profile: bool) -> None:
        self.begin, self.steps, self.first, self.seconds = warmup, 0, 0.0, 0.0
        self.kernels: dict[str, float] = {}
        self._profile = profile
        self._profiler: Any = None
        self._profiled_from = 0.0

    def __call__(self, done: int, of: int) -> None:
        last = of - _PROFILED if self._profile else of
        if done == self.begin:
            self._wait()
            self.first = time.monotonic()
        if done == last:
            self._wait()
            self.steps, self.seconds = last - self.begin, time.monotonic() - self.first
            if self._profile:
                import torch

                self._profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
                self._profiler.start()
                self._profiled_from = time.monotonic()
        if done == of and self._profiler is not None:
            self._wait()
            wall = 1e3 * (time.monotonic() - self._profiled_from)
            self._profiler.stop()
            from benchmarks.gpu_ceiling import kernel_kinds

            kinds = kernel_kinds(self._profiler)
            self.kernels = {name: round(value / _PROFILED, 2) for name, value in kinds.items()}
            self.kernels["step_milliseconds_profiled"] = round(wall / _PROFILED, 2)

    def close(self) -> None:
        """Frees the GPU's memory for the next arm."""
        if platform_of() == "cuda":
            import gc

            import torch

            gc.collect()
            torch.cuda.empty_cache()

    def _wait(self) -> None:
        if platform_of() == "cuda":
            import torch

            torch.cuda.synchronize()
