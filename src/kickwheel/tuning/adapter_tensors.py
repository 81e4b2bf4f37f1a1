"""What an adapter's weights say, whatever its configuration claims. Only the file's header is read: names and shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from kickwheel.errors import StageFailed

Shapes = Mapping[str, tuple[int, ...]]

_PREFIX = "base_model.model."
_SKIPPED = (".embed_tokens.base_layer.weight", ".lm_head.base_layer.weight")
"""vLLM passes over these without a word (lora/utils.py: is_base_embedding_weights; vllm-project/vllm 4186)."""

_SHOWN = 3


def tensor_shapes(file: Path) -> Shapes:
    """Names and shapes of a safetensors file, from its header (8 bytes of length, then JSON); its weights are not read.

    Raises:
        StageFailed: the file is torn or no safetensors.
    """
    try:
        with file.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            if not 0 < size <= 100_000_000:
                raise ValueError(f"a header of {size} bytes")
            header = json.loads(stream.read(size))
        return {name: tuple(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StageFailed(f"{file} is no safetensors file that can be read: {error}") from error


def base_shapes(base_path: Path) -> Shapes:
    """Names and shapes of a base checkpoint, over all its files."""
    return {name: shape for file in sorted(base_path.glob("*.safetensors")) for name, shape in tensor_shapes(file).items()}


def tensor_problems(shapes: Shapes, *, max_lora_rank: int, vocabulary: int | None, base: Shapes | None = None) -> Iterator[str]:
    """Everything in an adapter's weights that keeps vLLM from serving it, or that it would drop without a word.

    Args:
        vocabulary: rows of the base's embedding; None: not known.
        base: tensors of the base; None or empty: shapes are not compared.
    """
    if not shapes:
        yield "its adapter_model.safetensors holds no tensors"
        return
    if dropped := [name for name in shapes if name.endswith(_SKIPPED)]:
        yield (
            f"it holds a whole embedding ({_some(dropped)}) that vLLM passes over without a word: the vocabulary was resized "
            "or trained. Save with save_embedding_layers=False and leave the vocabulary as it is"
        )
    pairs: dict[str, dict[str, tuple[int, ...]]] = {}
    foreign = []
    for name, shape in shapes.items():
        module, side = _split(name)
        if side:
            pairs.setdefault(module, {})[side] = shape
        elif not name.endswith(_SKIPPED):
            foreign.append(name)
    if foreign:
        yield f"it holds tensors that are no LoRA matrices: {_some(foreign)}"
    if lonely := [module for module, sides in pairs.items() if len(sides) < 2]:
        yield f"one of the two LoRA matrices is missing: {_some(lonely)}"
    embeddings = {module: sides["eA"][1] for module, sides in pairs.items() if len(sides.get("eA", ())) == 2}
    for module, width in embeddings.items():
        if vocabulary is not None and width != vocabulary:
            yield f"{module}: lora_embedding_A is {width} wide, the base's vocabulary has {vocabulary} tokens"
    ranks = {module: sides["A"][0] for module, sides in pairs.items() if len(sides.get("A", ())) == 2}
    if high := {module: rank for module, rank in ranks.items() if rank > max_lora_rank}:
        yield f"matrices of rank {max(high.values())} are above max_lora_rank {max_lora_rank}: {_some(list(high))}"
    if base:
        yield from _base_problems(pairs, base)


def _base_problems(pairs: Mapping[str, Mapping[str, tuple[int, ...]]], base: Shapes) -> Iterator[str]:
    missing, unlike = [], []
    for module, sides in pairs.items():
        weights = base.get(f"{module}.weight") or base.get(f"{module.removeprefix('model.')}.weight")
        a, b = sides.get("A"), sides.get("B")
        if a is None or b is None:
            continue
        if weights is None:
            missing.append(module)
        elif (b[0], a[1]) != tuple(weights[:2]):
            unlike.append(f"{module} ({b[0]} by {a[1]}, the base's is {weights[0]} by {weights[1]})")
    if missing:
        yield f"the base has no such modules: {_some(missing)}"
    if unlike:
        yield f"it belongs to another base: {_some(unlike)}"


def _split(name: str) -> tuple[str, str]:
    """Module, and side: A, B, eA or eB (of an embedding); an empty side where it is no LoRA matrix."""
    parts = name.removeprefix(_PREFIX).split(".")
    if len(parts) > 2 and parts[-1] == "weight" and parts[-2] in ("lora_A", "lora_B"):
        return ".".join(parts[:-2]), parts[-2][-1]
    if len(parts) > 1 and parts[-1] in ("lora_embedding_A", "lora_embedding_B"):
        return ".".join(parts[:-1]), f"e{parts[-1][-1]}"
    return ".".join(parts), ""


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(sorted(names)[:_SHOWN]) + more
