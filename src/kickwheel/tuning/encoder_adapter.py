"""Fine-tunes a sentence encoder with a classification head, whole or by LoRA, on the processor or a GPU."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kickwheel.embedding.encoder_adapter import load_encoder, load_encoder_tokenizer, mean_pooled
from kickwheel.errors import StageFailed
from kickwheel.tuning.encoder import EncoderPlan, Head, Progress, SoftRows
from kickwheel.tuning.encoder_batches import plan_batches

if TYPE_CHECKING:
    import torch

_READ_BATCH = 128


class TorchEncoderTrainer:
    """An :class:`~kickwheel.tuning.encoder.EncoderTrainer`. In bf16 autocast: half the time where the CPU has it."""

    def train(
        self, rows: SoftRows, plan: EncoderPlan, *, base: Path, head: Head, progress: Progress | None = None
    ) -> EncoderClassifier:
        """See :class:`~kickwheel.tuning.encoder.EncoderTrainer`. The loss is cross-entropy with the targets, by weight."""
        import torch

        tokenizer = load_encoder_tokenizer(base)
        encoded = tokenizer(list(rows.texts), truncation=True, max_length=plan.max_tokens)["input_ids"]
        batches = plan_batches([len(ids) for ids in encoded], rows.labelled, rows.weights, plan)
        with torch.random.fork_rng():
            torch.manual_seed(plan.seed)
            encoder = _trainable(load_encoder(base), plan)
            model = EncoderClassifier(encoder, tokenizer, _linear(head, encoder), plan.max_tokens)
            self._steps(model, encoded, batches, rows, plan, progress)
        return model

    def _steps(
        self,
        model: EncoderClassifier,
        encoded: Sequence[list[int]],
        batches: Sequence[NDArray[np.intp]],
        rows: SoftRows,
        plan: EncoderPlan,
        progress: Progress | None,
    ) -> None:
        import torch

        body = [parameter for parameter in model.encoder.parameters() if parameter.requires_grad]
        head = list(model.head.parameters())
        groups = [{"params": body, "lr": plan.learning_rate}, {"params": head, "lr": plan.learning_rate * plan.head_rate}]
        optimizer = torch.optim.AdamW(groups, weight_decay=plan.weight_decay, fused=True)
        warmup, steps = max(1.0, plan.warmup_share * len(batches)), len(batches)
        rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup) * (1.0 - step / steps))
        targets, weights = torch.from_numpy(rows.targets), torch.from_numpy(rows.weights)
        model.encoder.train()
        for step, batch in enumerate(batches, start=1):
            logits = model.logits([encoded[i] for i in batch])
            logs = torch.log_softmax(logits.float(), dim=-1)
            weight = weights[batch].to(logs.device)
            loss = -((targets[batch].to(logs.device) * logs).sum(-1) * weight).sum() / weight.sum()
            if not math.isfinite(loss.item()):
                raise StageFailed(f"the loss of step {step} is {loss.item()}: lower the learning rate {plan.learning_rate:g}")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_([*body, *head], 1.0)
            optimizer.step()
            rate.step()
            if progress is not None:
                progress(step, steps)
        model.encoder.eval()


class EncoderClassifier:
    """An :class:`~kickwheel.tuning.encoder.IntentModel`: encoder, mean of tokens, linear head."""

    def __init__(self, encoder: Any, tokenizer: Any, head: torch.nn.Linear, max_tokens: int) -> None:
        self.encoder, self.head = encoder, head
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens

    def logits(self, encoded: Sequence[list[int]]) -> torch.Tensor:
        """(texts, intents), from token ids."""
        import torch

        device = self.head.weight.device
        padded = self._tokenizer.pad({"input_ids": list(encoded)}, return_tensors="pt").to(device)
        with torch.autocast(device.type, torch.bfloat16):
            pooled = mean_pooled(self.encoder, padded["input_ids"], padded["attention_mask"])
        # In float32: rounded to bf16, near intents would tie.
        logits: torch.Tensor = self.head(pooled)
        return logits

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """See :class:`~kickwheel.tuning.encoder.IntentModel`."""
        import torch

        table = np.zeros((len(texts), self.head.out_features))
        if not texts:
            return table
        encoded = self._tokenizer(list(texts), truncation=True, max_length=self._max_tokens)["input_ids"]
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        with torch.inference_mode():
            for start in range(0, len(order), _READ_BATCH):
                batch = order[start : start + _READ_BATCH]
                table[batch] = torch.softmax(self.logits([encoded[i] for i in batch]).double(), dim=-1).cpu().numpy()
        return table


def _trainable(encoder: Any, plan: EncoderPlan) -> Any:
    if not plan.lora_rank:
        for name, parameter in encoder.named_parameters():
            if (name.startswith("embeddings.") and plan.frozen_words) or _layer(name) < plan.frozen_layers:
                parameter.requires_grad_(False)
        return encoder
    from peft import LoraConfig, get_peft_model

    shape = LoraConfig(r=plan.lora_rank, lora_alpha=2 * plan.lora_rank, target_modules=["query", "value"], lora_dropout=0.05)
    return get_peft_model(encoder, shape)


def _layer(name: str) -> float:
    """Number of the layer that a parameter such as ``encoder.layer.3.output.dense.weight`` belongs to; infinite without one."""
    found = re.search(r"(?:^|\.)layers?\.(\d+)\.", name)
    return int(found.group(1)) if found else math.inf


def _linear(head: Head, encoder: Any) -> torch.nn.Linear:
    """The head in torch.

    Raises:
        StageFailed: it is not as wide as the encoder.
    """
    import torch

    width, intents = head.weights.shape
    if width != encoder.config.hidden_size:
        raise StageFailed(f"a head for vectors of {width} numbers does not fit an encoder of {encoder.config.hidden_size}")
    linear = torch.nn.Linear(width, intents)
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(head.weights.T.copy()))
        linear.bias.copy_(torch.from_numpy(head.biases))
    return linear.to(encoder.device)
