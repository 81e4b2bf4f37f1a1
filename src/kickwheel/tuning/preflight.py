"""Will vLLM serve this adapter? Asked before anything is trained or loaded, answered from ``adapter_config.json``.

The rules are those of vLLM's LoRA loader (0.24 to 0.33: lora/peft_helper.py, lora/lora_model.py, config/lora.py); the
upstream threads are vllm-project/vllm 9280 and 4186.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kickwheel.errors import StageFailed
from schemas.tuning import LoraPlan

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "qkv_proj", "gate_up_proj")
"""Modules that decoder models have and vLLM adapts."""

_UNSUPPORTED = {
    "use_dora": "DoRA",
    "lora_bias": "a bias in the LoRA matrices",
    "alora_invocation_tokens": "activated LoRA",
    "layer_replication": "layer replication",
    "trainable_token_indices": "trained token embeddings",
}
_CONVERTED_FIRST = ("pissa", "olora", "corda", "loftq")


def check_plan(plan: LoraPlan, *, max_lora_rank: int) -> None:
    """Refuse a plan whose adapter could not be served.

    Raises:
        StageFailed: with every reason.
    """
    config = {"peft_type": "LORA", "r": plan.r, "target_modules": list(plan.target_modules)}
    _refuse("the LoRA plan", list(problems_of(config, max_lora_rank=max_lora_rank)))


def check_adapter(folder: Path, *, max_lora_rank: int) -> None:
    """Refuse an adapter folder that the server would refuse, or load wrongly without a word.

    Raises:
        StageFailed: with every reason.
    """
    path = folder / "adapter_config.json"
    if not path.is_file():
        raise StageFailed(f"{folder} is no adapter: it has no adapter_config.json")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise StageFailed(f"{path} is no JSON: {error}") from error
    problems = list(problems_of(config, max_lora_rank=max_lora_rank))
    if not (folder / "adapter_model.safetensors").is_file():
        problems.append("it has no adapter_model.safetensors; pickled weights are not loaded")
    _refuse(f"adapter {folder}", problems)


def problems_of(config: Mapping[str, Any], *, max_lora_rank: int) -> Iterator[str]:
    """Everything in an adapter's configuration that keeps vLLM from serving it."""
    if config.get("peft_type") != "LORA":
        yield f"it is {config.get('peft_type')!r}, expected 'LORA'"
    rank = max([config.get("r", 0), *(config.get("rank_pattern") or {}).values()])
    if rank > max_lora_rank:
        yield f"rank {rank} is above the server's max_lora_rank {max_lora_rank} (setting KICKWHEEL_SERVER__MAX_LORA_RANK)"
    if kept := config.get("modules_to_save"):
        yield f"modules_to_save is {kept}: vLLM takes LoRA matrices only"
    if config.get("bias", "none") != "none":
        yield f"bias is {config['bias']!r}, expected 'none'"
    yield from (f"{what} ({name}) cannot be served" for name, what in _UNSUPPORTED.items() if config.get(name))
    start = str(config.get("init_lora_weights", True)).lower()
    if start.startswith(_CONVERTED_FIRST):
        yield f"init_lora_weights {start!r} changes the base: convert the adapter to plain LoRA first"
    yield from _target_problems(config.get("target_modules"))


def _target_problems(targets: object) -> Iterator[str]:
    if isinstance(targets, str) or not isinstance(targets, list | tuple | set):
        yield f"target_modules is {targets!r}, expected a list of module names"
    elif not targets:
        yield "target_modules is empty"
    elif unknown := sorted({str(name).rpartition(".")[2] for name in targets} - set(LINEAR)):
        yield f"target_modules {unknown} are not served with LoRA; known: {', '.join(LINEAR)}"


def _refuse(what: str, problems: list[str]) -> None:
    if problems:
        raise StageFailed(f"{what} cannot be served: " + "; ".join(problems))
