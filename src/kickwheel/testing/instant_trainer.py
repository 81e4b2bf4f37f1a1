"""A trainer that trains nothing: it writes a valid LoRA adapter with B = 0 at once, so flows can be tried out in seconds.

Such an adapter answers exactly like the base. It stands in for the wiring, never for a measurement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kickwheel.errors import StageFailed
from kickwheel.settings import DistillationSettings
from kickwheel.tuning.ports import Progress, Surroundings, TrainedAdapter
from schemas.feedback import DistillationRow, TokenTeacher
from schemas.tuning import LoraPlan, LossPoint
from schemas.utterance import Utterance

TINY: Mapping[str, int] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
"""Shapes where the base folder holds no ``config.json``."""

TOKENS_A_ROW = 58


class InstantTrainer:
    """A :class:`~kickwheel.tuning.ports.LoraTrainer` and :class:`~kickwheel.distillation.ports.Distiller` for tests.

    ``calls`` lists what was asked for, in order: "train" or "distil" and the name of the folder written.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

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
        """Write an adapter that does nothing. Refuses what a real trainer would: no rows, rows without a label."""
        if unlabelled := [row.id for row in rows if row.frame is None]:
            raise StageFailed(f"row {unlabelled[0]!r} has no label: only labelled rows can be trained on")
        self.calls.append(("train", out.name))
        return _instantly(len(rows), plan, base_path, out, progress)

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
        """Write an adapter that does nothing, of other weights than the parent's: the registry tells versions by them."""
        self.calls.append(("distil", out.name))
        return _instantly(len(rows), plan.model_copy(update={"seed": plan.seed + 1}), base_path, out, progress)


def _instantly(rows: int, plan: LoraPlan, base_path: Path, out: Path, progress: Progress | None) -> TrainedAdapter:
    if not rows:
        raise StageFailed("there are no rows to train on")
    path = base_path / "config.json"
    write_untrained_adapter(out, json.loads(path.read_text(encoding="utf-8")) if path.is_file() else TINY, plan)
    if progress is not None:
        progress(1, 1)
    tokens = min(plan.max_tokens, TOKENS_A_ROW * rows)
    return TrainedAdapter(out, (LossPoint(step=1, tokens=tokens, loss=2.0),), tokens, 0.001, ("nothing was trained",))


def write_untrained_adapter(folder: Path, config: Mapping[str, Any], plan: LoraPlan) -> None:
    """An adapter for a decoder of the shapes in ``config`` (transformers' names), its A drawn under ``plan.seed``, its B zero.

    Raises:
        StageFailed: the plan targets a module that is no attention projection.
    """
    import numpy as np
    from safetensors.numpy import save_file

    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    head = config.get("head_dim") or hidden // heads
    keys = head * config.get("num_key_value_heads", heads)
    widths = {"q_proj": head * heads, "k_proj": keys, "v_proj": keys, "o_proj": hidden}
    if unknown := set(plan.target_modules) - set(widths):
        raise StageFailed(f"the instant trainer knows the shapes of {sorted(widths)}, not of {sorted(unknown)}")
    rng = np.random.default_rng(plan.seed)
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        for module in plan.target_modules:
            name = f"base_model.model.model.layers.{layer}.self_attn.{module}"
            inputs = head * heads if module == "o_proj" else hidden
            tensors[f"{name}.lora_A.weight"] = rng.normal(0, 0.02, (plan.r, inputs)).astype(np.float32)
            tensors[f"{name}.lora_B.weight"] = np.zeros((widths[module], plan.r), dtype=np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    adapter = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": plan.r,
        "lora_alpha": plan.alpha,
        "lora_dropout": plan.dropout,
        "target_modules": list(plan.target_modules),
        "bias": "none",
        "base_model_name_or_path": None,
    }
    (folder / "adapter_config.json").write_text(json.dumps(adapter, indent=1), encoding="utf-8")
