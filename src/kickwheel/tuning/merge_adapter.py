"""An adapter merged into its base: a plain checkpoint for servers that take no adapters, and one arm of the parity check.

Merged in fp32 on the unquantised base and rounded once, to the base's own type: merging in a quantised base, or rounding the
product of the LoRA matrices before it is added, costs quality (huggingface/peft 1836, 2368).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from kickwheel.errors import ModelUnavailable, StageFailed
from kickwheel.tuning.model_adapter import with_adapter
from kickwheel.workspace import fingerprint, hash_file

RECORD = "kickwheel_merge.json"
"""In the merged folder: from what it was made. Written with the folder, so a folder without it isn't one of ours."""


def merge(base_path: Path, adapter_folder: Path, out: Path) -> Path:
    """Write base plus adapter to ``out``: config, tokenizer, safetensors. The folder appears whole or not at all.

    Called again with the same base and adapter it does nothing. An ``out`` of another merge is replaced; a folder that is
    no merge is left alone.

    Returns:
        ``out``.

    Raises:
        ModelUnavailable: ``base_path`` holds no model.
        StageFailed: a quantised base, an adapter that does not fit it, a merge that gives numbers that are none, or an
            ``out`` that is something else.
    """
    config = _config_of(base_path)
    if config.get("quantization_config"):
        raise StageFailed(
            f"{base_path} is quantised: merging would round the adapter away (huggingface/peft 2368). Merge into the "
            "unquantised checkpoint that it was made from, and quantise the result"
        )
    weights = adapter_folder / "adapter_model.safetensors"
    if not weights.is_file():
        raise StageFailed(f"{adapter_folder} is no adapter: it has no adapter_model.safetensors")
    key = fingerprint(
        hash_file(weights), hash_file(adapter_folder / "adapter_config.json"), config, sorted(_sizes(base_path).items())
    )
    if (out / RECORD).is_file():
        if json.loads((out / RECORD).read_text(encoding="utf-8")).get("key") == key:
            return out
    elif out.exists() and any(out.iterdir()):
        raise StageFailed(f"{out} holds something that is no merged model: choose another folder, or remove it")
    partial = out.with_name(f".{out.name}.merging")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    _write_model(base_path, adapter_folder, partial)
    for file in base_path.iterdir():  # as they are: a tokenizer that is read and written again is not the same file
        if file.is_file() and not (partial / file.name).exists() and _is_small(file):
            shutil.copyfile(file, partial / file.name)
    record = {"key": key, "base": base_path.resolve().name, "adapter_sha256": hash_file(weights)}
    (partial / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)
    return out


def merged_model(base_path: Path, adapter_folder: Path) -> Any:
    """Base plus adapter in memory, on the CPU, in the base's own type.

    Raises:
        ModelUnavailable, StageFailed: as :func:`merge`.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        base: Any = AutoModelForCausalLM.from_pretrained(str(base_path), dtype="auto", local_files_only=True)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{base_path} holds no model that can be read: {error}") from error
    own = base.dtype
    with torch.no_grad():
        model = with_adapter(base.float(), adapter_folder, trainable=False)
        try:
            merged = model.merge_and_unload(safe_merge=True)
        except ValueError as error:
            raise StageFailed(f"adapter {adapter_folder} cannot be merged: {error}") from error
    return merged.to(own).eval()


def _write_model(base_path: Path, adapter_folder: Path, partial: Path) -> None:
    model = merged_model(base_path, adapter_folder)
    model.save_pretrained(str(partial), safe_serialization=True)


def _config_of(base_path: Path) -> dict[str, Any]:
    path = base_path / "config.json"
    if not path.is_file():
        raise ModelUnavailable(f"{base_path} holds no model: it has no config.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _sizes(base_path: Path) -> dict[str, int]:
    """What tells one base from another without reading gigabytes of weights."""
    return {path.name: path.stat().st_size for path in base_path.glob("*.safetensors")}


def _is_small(file: Path) -> bool:
    """Everything but weights, in whatever form, and their index."""
    return file.suffix not in {".safetensors", ".bin", ".pt", ".pth", ".gguf"} and not file.name.endswith(".index.json")
