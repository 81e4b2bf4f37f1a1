"""``kickwheel check-adapter``: will the installed vLLM serve this adapter, and what will it take?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.output import fail, messages
from kickwheel.errors import KickwheelError


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of a PEFT adapter (adapter_config.json and safetensors)")],
    base: Annotated[
        str, typer.Option("--base", help="Its base model: compare vocabulary and shapes too; empty: the setting model.base")
    ] = "",
    max_lora_rank: Annotated[
        int, typer.Option("--max-lora-rank", min=0, help="The server's; 0: the setting server.max_lora_rank")
    ] = 0,
    no_base: Annotated[bool, typer.Option("--no-base", help="Look at the adapter's own files only")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Say whether the model server will load an adapter, whole and rightly. No model is loaded and no GPU touched.

    The rules are read from the vLLM that the settings would start. Exit code 0: it will be served; 1: it will not, with every
    reason; 2: the folder holds no adapter, or the base cannot be had.

    Examples:

        kickwheel check-adapter adapters/mine

        kickwheel check-adapter adapters/mine --max-lora-rank 32 --base Qwen/Qwen2.5-Coder-0.5B-Instruct

        kickwheel check-adapter adapters/mine --no-base --json | jq '.problems[]'
    """
    from kickwheel.inference.base_model_adapter import ensure_base_model
    from kickwheel.inference.vllm_command import adapter_modules
    from kickwheel.settings import get_settings
    from kickwheel.tuning.installed_loader_adapter import installed_rules
    from kickwheel.tuning.memory_estimate import serving_memory
    from kickwheel.tuning.preflight import adapter_problems

    try:
        settings = get_settings()
        rank = max_lora_rank or settings.server.max_lora_rank
        rules = installed_rules(settings.server)
        base_path = None if no_base else ensure_base_model(base or settings.model.base, settings.home).path
        problems = adapter_problems(
            folder, max_lora_rank=rank, rules=rules, base_path=base_path, modules=adapter_modules(settings.server)
        )
        memory = serving_memory(base_path, settings.server, max_lora_rank=rank) if base_path else None
    except KickwheelError as error:
        raise typer.Exit(fail(error)) from None
    if as_json:
        report = {
            "adapter": str(folder),
            "ok": not problems,
            "problems": problems,
            "max_lora_rank": rank,
            "vllm": rules.version,
            "rules": rules.source,
            "serving_bytes": memory.parts if memory else None,
        }
        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        for problem in problems:
            messages().print(f"{folder}: {problem}", markup=False, soft_wrap=True)
        verdict = f"{len(problems)} reason{'s' * (len(problems) != 1)} against it" if problems else "will be served"
        sys.stdout.write(f"{folder}: {verdict} ({rules.name}, max_lora_rank {rank})\n")
        if memory:
            sys.stdout.write(f"memory of the server: {memory.told()}\n")
    if problems:
        raise typer.Exit(1)
