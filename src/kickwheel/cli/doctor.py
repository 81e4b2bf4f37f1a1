"""``kickwheel doctor``: what is missing on this machine and how to get it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal

import psutil
import typer
from rich.table import Table

from kickwheel.cli.output import results
from kickwheel.errors import KickwheelError
from kickwheel.settings import Settings, get_settings
from schemas.base import Contract

DISK_NEEDED_GB = 3.0
MEMORY_NEEDED_GB = 6.0
_MARKS = {"ok": "[green]ok[/]", "note": "[yellow]note[/]", "missing": "[red]missing[/]"}


class Finding(Contract):
    """One line of the doctor's report."""

    what: str
    state: Literal["ok", "note", "missing"]
    found: str
    remedy: str = ""


def command(as_json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON list")] = False) -> None:
    """Look at this machine: Python, packages, torch build, vLLM, base model, teacher, disk, memory.

    Exit code 1 where something that a lap cannot do without is missing.

    Examples:

        kickwheel doctor

        kickwheel doctor --json
    """
    findings = list(examine(get_settings()))
    if as_json:
        sys.stdout.write(json.dumps([item.model_dump() for item in findings], indent=1) + "\n")
    else:
        table = Table("", "what", "found", "what to do", box=None, pad_edge=False)
        for item in findings:
            table.add_row(_MARKS[item.state], item.what, item.found, item.remedy)
        results().print(table)
    if any(item.state == "missing" for item in findings):
        raise typer.Exit(1)


def examine(settings: Settings) -> Iterator[Finding]:
    """Every finding, in the order in which a lap would stumble over it."""
    yield Finding(what="python", state="ok", found=sys.version.split()[0])
    yield from map(_package, ("prefect", "mlflow", "transformers", "peft", "datasets", "openai", "scikit-learn"))
    yield _torch()
    yield _base_model(settings)
    yield _model_server(settings)
    yield _teacher(settings)
    yield from _room(settings.home)


def _package(name: str) -> Finding:
    # Asked of the metadata: a folder called mlflow/ makes `import mlflow` succeed even where MLflow is not installed.
    try:
        return Finding(what=name, state="ok", found=version(name))
    except PackageNotFoundError:
        return Finding(what=name, state="missing", found="not installed", remedy="make setup")


def _torch() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding(what="torch", state="missing", found="not installed", remedy="make setup")
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    cuda = torch.version.cuda
    if cuda and not gpus:
        remedy = "no GPU is seen: the CPU build is smaller (make setup TORCH_INDEX=<PyTorch's CPU wheel index>)"
        return Finding(what="torch", state="note", found=f"{torch.__version__} (CUDA {cuda} build)", remedy=remedy)
    return Finding(what="torch", state="ok", found=f"{torch.__version__} ({', '.join(gpus) or 'CPU build'})")


def _base_model(settings: Settings) -> Finding:
    from kickwheel.inference.base_model_adapter import find_gguf, packaged
    from kickwheel.inference.model_files_adapter import PACKAGE

    spec = settings.model.base
    if spec.startswith(PACKAGE):
        try:
            find_gguf(packaged(spec.removeprefix(PACKAGE)))
        except KickwheelError as error:
            return Finding(what="base model", state="missing", found=spec, remedy=str(error))
        return Finding(what="base model", state="ok", found=f"{spec} (packaged)")
    kind = "a folder" if Path(spec).is_dir() else "a hub id: fetched when first needed"
    return Finding(what="base model", state="ok", found=f"{spec} ({kind})")


def _model_server(settings: Settings) -> Finding:
    from kickwheel.inference.vllm_adapter import find_server_command

    if settings.server.url:
        key = ", with a key" if settings.server.api_key.get_secret_value() else ""
        return Finding(what="model server", state="ok", found=f"{settings.server.url}{key}")
    try:
        command = find_server_command(settings.server)
    except KickwheelError as error:
        return Finding(
            what="model server",
            state="note",
            found="none: throughput will say 'not measured', evaluation runs in this process",
            remedy=str(error),
        )
    return Finding(what="model server", state="ok", found=command[0])


def _teacher(settings: Settings) -> Finding:
    teacher = settings.teacher
    if teacher.base_url:
        key = "with a key" if teacher.api_key.get_secret_value() else "without a key"
        return Finding(what="teacher", state="ok", found=f"{teacher.model} at {teacher.base_url}, {key}")
    return Finding(
        what="teacher",
        state="note",
        found="the base model itself, on the local vLLM: small, so expect few accepted labels",
        remedy="KICKWHEEL_TEACHER__BASE_URL, KICKWHEEL_TEACHER__MODEL, KICKWHEEL_TEACHER__API_KEY",
    )


def _room(home: Path) -> Iterator[Finding]:
    place = next(path for path in (home.absolute(), *home.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free / 1e9
    yield Finding(
        what="disk",
        state="ok" if free >= DISK_NEEDED_GB and os.access(place, os.W_OK) else "missing",
        found=f"{free:.0f} GB free at {home}",
        remedy="" if free >= DISK_NEEDED_GB else f"a lap needs {DISK_NEEDED_GB:.0f} GB: set KICKWHEEL_HOME to a larger disk",
    )
    memory = psutil.virtual_memory().available / 1e9
    yield Finding(
        what="memory",
        state="ok" if memory >= MEMORY_NEEDED_GB else "note",
        found=f"{memory:.0f} GB available, {os.cpu_count()} cores",
        remedy="" if memory >= MEMORY_NEEDED_GB else f"a lap of the example peaks near {MEMORY_NEEDED_GB:.0f} GB",
    )
