"""The base model and its adapters in this process: transformers and PEFT, for training and where there is no vLLM."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.errors import ModelUnavailable, StageFailed
from schemas.tuning import LoraPlan

if TYPE_CHECKING:
    import torch


def load_tokenizer(base_path: Path) -> Any:
    """The base's tokenizer. Padding is on the right; whoever generates pads on the left.

    Raises:
        ModelUnavailable: the folder has none.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(base_path), local_files_only=True, padding_side="right")
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{base_path} has no tokenizer that can be read: {error}") from error


def load_base(base_path: Path, tokenizer: Any) -> Any:
    """The frozen base model, on the GPU if there is one.

    Raises:
        ModelUnavailable: the folder holds no model.
        StageFailed: the tokenizer has more tokens than the model has embeddings. (Fewer is usual, e.g. Qwen2.5, and nothing
            is resized: huggingface/peft 2415, huggingface/transformers 36550.)
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(str(base_path), dtype=compute_dtype(), local_files_only=True)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{base_path} holds no model that can be read: {error}") from error
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        raise StageFailed(f"the tokenizer of {base_path} has {len(tokenizer)} tokens, the model only {rows} embeddings")
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


def with_new_lora(model: Any, plan: LoraPlan) -> Any:
    """The model with an untrained adapter: A drawn from the global generator, B zero."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=plan.r,
        lora_alpha=plan.alpha,
        lora_dropout=plan.dropout,
        target_modules=list(plan.target_modules),
        bias="none",
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def with_adapter(model: Any, folder: Path, *, trainable: bool) -> Any:
    """The model with the adapter of a folder.

    Raises:
        StageFailed: the adapter does not belong to this base.
    """
    from peft import PeftModel

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="Found missing adapter keys")
            return PeftModel.from_pretrained(model, str(folder), is_trainable=trainable)
    except (RuntimeError, ValueError, UserWarning) as error:
        raise StageFailed(f"adapter {folder} does not fit the base model {model.config.name_or_path}: {error}") from error


def save_adapter(model: Any, out: Path) -> None:
    """Write the adapter's safetensors and configuration. The folder appears whole or not at all."""
    import shutil

    partial = out.with_name(f".{out.name}.saving")
    shutil.rmtree(partial, ignore_errors=True)
    # Left to itself PEFT may add the embedding, which vLLM passes over without a word, and asks the hub for the base.
    model.save_pretrained(str(partial), safe_serialization=True, save_embedding_layers=False)
    (partial / "README.md").unlink(missing_ok=True)  # an empty model card
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)


def save_model(model: Any, tokenizer: Any, out: Path) -> None:
    """Write a whole model and its tokenizer: a base like any other. The folder appears whole or not at all."""
    import shutil

    import torch

    partial = out.with_name(f".{out.name}.saving")
    shutil.rmtree(partial, ignore_errors=True)
    model.to(torch.bfloat16).save_pretrained(str(partial), safe_serialization=True, max_shard_size="100GB")
    tokenizer.save_pretrained(str(partial))
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)


def compute_dtype() -> torch.dtype:
    """bf16, as the server computes, where the processor multiplies bf16 itself; else fp32, which is then far faster."""
    import torch

    if torch.cuda.is_available():
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    cpu = Path("/proc/cpuinfo")
    flags = cpu.read_text(encoding="utf-8") if cpu.is_file() else ""
    return torch.bfloat16 if "avx512_bf16" in flags or "amx_bf16" in flags else torch.float32
