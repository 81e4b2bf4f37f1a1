"""Whether a server applies the whole of an adapter. What vLLM refuses by itself is not asked here."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from kickwheel.errors import RequestRefused


def check_modules(folder: Path, modules: Collection[str]) -> None:
    """Compare the modules that an adapter touches with those that the server was started for; empty: all of them.

    Raises:
        RequestRefused: no adapter, or one with weights that the server would drop without a word.
    """
    try:
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RequestRefused(f"{folder} holds no LoRA adapter: {error}") from error
    targets = config.get("target_modules") or []
    touched = {targets} if isinstance(targets, str) else {str(name).rsplit(".", 1)[-1] for name in targets}
    if modules and not touched <= set(modules):
        raise RequestRefused(
            f"adapter {folder} touches {', '.join(sorted(touched - set(modules)))}, the server was started for "
            f"{', '.join(modules)}: set KICKWHEEL_SERVER__LORA_MODULES to what the LoRA plan names"
        )
