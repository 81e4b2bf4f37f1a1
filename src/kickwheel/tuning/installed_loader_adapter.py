"""Where the model server's vLLM lies: asked of its own Python, since it lives in another environment."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from kickwheel.errors import ServerNotInstalled
from kickwheel.inference.vllm_command import find_server_command
from kickwheel.settings import ServerSettings
from kickwheel.tuning.loader_rules import KNOWN, LoaderRules, read_rules

_FIND = "import importlib.util as u; s = u.find_spec('vllm'); print(s.submodule_search_locations[0] if s else '')"
"""Finds a package without importing it: importing vLLM takes ten seconds and the GPU."""

_WITHIN_S = 30.0


def installed_rules(settings: ServerSettings) -> LoaderRules:
    """Rules of the vLLM that the settings would start; :data:`KNOWN` where there is none that can be read."""
    if settings.url:
        return KNOWN
    try:
        command = find_server_command(settings)
    except ServerNotInstalled:
        return KNOWN
    python = _python_of(command[0])
    if python is None:
        return KNOWN
    try:
        done = subprocess.run([python, "-I", "-c", _FIND], capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return KNOWN
    found = done.stdout.strip()
    return read_rules(Path(found)) if done.returncode == 0 and found else KNOWN


def _python_of(program: str) -> str | None:
    """The Python behind a program: itself, or the one that its first line names; None where it is something else."""
    path = shutil.which(program)
    if path is None:
        return None
    if Path(path).name.startswith("python"):
        return path
    with Path(path).open("rb") as file:
        first = file.readline(500)
    if not first.startswith(b"#!"):
        return None
    interpreter = first[2:].decode(errors="replace").split()
    return interpreter[0] if interpreter and Path(interpreter[0]).name.startswith("python") else None
