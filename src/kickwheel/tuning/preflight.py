"""Will vLLM serve this adapter? Asked before anything is trained or loaded, answered from the adapter's files.

The rules are those of vLLM's LoRA loader (lora/peft_helper.py, lora/lora_model.py, lora/utils.py, config/lora.py), read from
the installed version where that can be (:mod:`kickwheel.tuning.loader_rules`). Upstream: vllm-project/vllm 9280 and 4186.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from kickwheel.errors import StageFailed
from kickwheel.tuning.adapter_tensors import base_shapes, tensor_problems, tensor_shapes
from kickwheel.tuning.loader_rules import KNOWN, LoaderRules
from schemas.tuning import LoraPlan

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "qkv_proj", "gate_up_proj")
"""Modules that decoder models have and vLLM adapts."""

_UNSUPPORTED = {
    "use_dora": "DoRA",
    "lora_bias": "a bias in the LoRA matrices",
    "alora_invocation_tokens": "activated LoRA (aLoRA)",
    "layer_replication": "layer replication",
    "trainable_token_indices": "trained token embeddings",
    "use_bdlora": "block-diagonal LoRA",
    "use_qalora": "QA-LoRA",
    "target_parameters": "LoRA on bare parameters",
}


def check_plan(plan: LoraPlan, *, max_lora_rank: int, rules: LoaderRules = KNOWN) -> None:
    """Refuse a plan whose adapter could not be served.

    Raises:
        StageFailed: with every reason.
    """
    config = {"peft_type": "LORA", "r": plan.r, "target_modules": list(plan.target_modules)}
    _refuse(
        "the LoRA plan", [*rank_problems(max_lora_rank, rules), *problems_of(config, max_lora_rank=max_lora_rank, rules=rules)]
    )


def check_adapter(
    folder: Path,
    *,
    max_lora_rank: int,
    rules: LoaderRules = KNOWN,
    base_path: Path | None = None,
    modules: Collection[str] = (),
) -> None:
    """Refuse an adapter folder that the server would refuse, or load wrongly without a word.

    Raises:
        StageFailed: with every reason.
    """
    problems = adapter_problems(folder, max_lora_rank=max_lora_rank, rules=rules, base_path=base_path, modules=modules)
    _refuse(f"adapter {folder}", problems)


def adapter_problems(
    folder: Path,
    *,
    max_lora_rank: int,
    rules: LoaderRules = KNOWN,
    base_path: Path | None = None,
    modules: Collection[str] = (),
) -> list[str]:
    """Everything in an adapter's folder that keeps vLLM from serving it; empty: it will load, and whole.

    Args:
        base_path: folder of the base; its vocabulary and shapes are compared. None: they are not.
        modules: what the server was started for (``server.lora_modules``); empty: all modules.

    Raises:
        StageFailed: the folder holds no adapter that can be read.
    """
    config = read_adapter_config(folder)
    problems = [*rank_problems(max_lora_rank, rules), *problems_of(config, max_lora_rank=max_lora_rank, rules=rules)]
    targets = config.get("target_modules")
    if modules and isinstance(targets, list):
        touched = {str(name).rpartition(".")[2] for name in targets}
        if beyond := sorted(touched - set(modules)):
            problems.append(
                f"it touches {', '.join(beyond)}, the server is started for {', '.join(modules)} (setting "
                "KICKWHEEL_SERVER__LORA_MODULES) and would drop the rest without a word"
            )
    weights = folder / "adapter_model.safetensors"
    if not weights.is_file():
        return [*problems, "it has no adapter_model.safetensors; pickled weights are not loaded"]
    base = base_shapes(base_path) if base_path else None
    vocabulary = _vocabulary(base_path) if base_path else None
    # A rank that the configuration admits to is said once.
    found = tensor_problems(tensor_shapes(weights), max_lora_rank=max_lora_rank, vocabulary=vocabulary, base=base)
    told_of_rank = _highest_rank(config) > max_lora_rank
    return [*problems, *(item for item in found if not (told_of_rank and item.startswith("matrices of rank")))]


def read_adapter_config(folder: Path) -> dict[str, Any]:
    """``adapter_config.json`` of a folder.

    Raises:
        StageFailed: there is none, or it is no JSON object.
    """
    path = folder / "adapter_config.json"
    if not path.is_file():
        raise StageFailed(f"{folder} is no adapter: it has no adapter_config.json")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StageFailed(f"{path} is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise StageFailed(f"{path} holds a {type(config).__name__}, expected a JSON object")
    return config


def rank_problems(max_lora_rank: int, rules: LoaderRules) -> Iterator[str]:
    """Whether the server's own setting is one that its vLLM takes."""
    if max_lora_rank not in rules.ranks:
        fitting = min((rank for rank in rules.ranks if rank >= max_lora_rank), default=max(rules.ranks))
        yield (
            f"max_lora_rank {max_lora_rank} is none that {rules.name} takes ({', '.join(map(str, rules.ranks))}): "
            f"set KICKWHEEL_SERVER__MAX_LORA_RANK to {fitting}"
        )


def problems_of(config: Mapping[str, Any], *, max_lora_rank: int, rules: LoaderRules = KNOWN) -> Iterator[str]:
    """Everything in an adapter's configuration that keeps vLLM from serving it."""
    if config.get("peft_type") != "LORA":
        yield f"it is {config.get('peft_type')!r}, expected 'LORA'"
    rank = _highest_rank(config)
    if rank > max_lora_rank:
        fitting = min((allowed for allowed in rules.ranks if allowed >= rank), default=None)
        hint = (
            f"set KICKWHEEL_SERVER__MAX_LORA_RANK to {fitting}"
            if fitting
            else f"{rules.name} takes none above {max(rules.ranks)}"
        )
        yield f"rank {rank} is above the server's max_lora_rank {max_lora_rank}: {hint}"
    for pattern in ("rank_pattern", "alpha_pattern"):
        if config.get(pattern) and pattern not in rules.fields:
            yield f"{pattern} is set: {rules.name} passes over it and scales those modules wrongly"
    if kept := config.get("modules_to_save"):
        yield f"modules_to_save is {kept}: vLLM takes LoRA matrices only, so {', '.join(map(str, kept))} cannot be served"
    if config.get("bias", "none") != "none":
        yield f"bias is {config['bias']!r}, expected 'none'"
    for name, what in _UNSUPPORTED.items():
        if config.get(name):
            how = "refuses it" if name in rules.fields else "passes over it without a word and would answer wrongly"
            yield f"{what} ({name}) cannot be served: {rules.name} {how}"
    start = config.get("init_lora_weights", True)
    if isinstance(start, str) and start.lower() not in rules.plain_starts:
        yield f"init_lora_weights {start!r} changes the base: convert the adapter to plain LoRA first"
    yield from _target_problems(config.get("target_modules"))


def _highest_rank(config: Mapping[str, Any]) -> int:
    """A higher rank of single modules (rank_pattern) counts."""
    return max(int(rank) for rank in (config.get("r") or 0, *(config.get("rank_pattern") or {}).values()))


def _target_problems(targets: object) -> Iterator[str]:
    if isinstance(targets, str) or not isinstance(targets, list | tuple | set):
        yield f"target_modules is {targets!r}, expected a list of module names"
    elif not targets:
        yield "target_modules is empty"
    elif unknown := sorted({str(name).rpartition(".")[2] for name in targets} - set(LINEAR)):
        yield f"target_modules {unknown} are not served with LoRA; known: {', '.join(LINEAR)}"


def _vocabulary(base_path: Path) -> int | None:
    path = base_path / "config.json"
    if not path.is_file():
        return None
    config = json.loads(path.read_text(encoding="utf-8"))
    size = config.get("vocab_size") or (config.get("text_config") or {}).get("vocab_size")
    return int(size) if size else None


def _refuse(what: str, problems: list[str]) -> None:
    if problems:
        raise StageFailed(f"{what} cannot be served: " + "; ".join(problems))
