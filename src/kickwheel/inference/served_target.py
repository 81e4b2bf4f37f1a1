"""What ``kickwheel serve-model`` is asked to serve: a base model, adapters beside it, or one adapter merged into it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.workspace import fingerprint, hash_file

_NAME = re.compile(r"^[\w.-]{1,128}$")


@dataclass(frozen=True)
class NamedAdapter:
    """An adapter folder and the name that requests use."""

    name: str
    folder: Path


def parse_adapters(texts: Sequence[str], *, option: str = "--adapter") -> tuple[NamedAdapter, ...]:
    """``NAME=FOLDER`` each.

    Raises:
        InputError: another form, a name twice, no such folder, or no adapter in it.
    """
    found: dict[str, NamedAdapter] = {}
    for text in texts:
        name, equals, folder = text.partition("=")
        if not equals or not _NAME.match(name):
            raise InputError(f"expected NAME=FOLDER (letters, digits, '.', '_', '-'), got {text!r}", field=option)
        if name in found:
            raise InputError(f"the name {name!r} stands there twice", field=option)
        path = Path(folder).expanduser()
        if not (path / "adapter_config.json").is_file():
            raise InputError(f"{path} holds no adapter (no adapter_config.json)", field=option)
        found[name] = NamedAdapter(name, path.resolve())
    return tuple(found.values())


def merged_folder(base_path: Path, adapter: Path, home: Path) -> Path:
    """Where the merge of this adapter into this base lies under ``home``: named by what both hold."""
    sizes = sorted((path.name, path.stat().st_size) for path in base_path.glob("*.safetensors"))
    weights = [hash_file(adapter / name) for name in ("adapter_model.safetensors", "adapter_config.json")]
    return (home / "models" / "merged" / fingerprint(str(base_path.resolve()), sizes, weights)[:16]).resolve()
