"""What vLLM's LoRA loader takes, by version: read from the source of the installed one, which is parsed and never imported.

The rules stand in ``config/lora.py`` (ranks) and ``lora/peft_helper.py`` (features of PEFT); they changed with almost every
release, so a table of ours would be wrong where it matters.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

_FIELDS = frozenset(
    """
    r lora_alpha target_modules bias modules_to_save use_rslora use_dora lora_bias init_lora_weights
    alora_invocation_tokens layer_replication use_bdlora use_qalora rank_pattern alpha_pattern
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class LoaderRules:
    """Rules of one version."""

    version: str
    """Of vLLM; empty: not known."""
    source: str
    """Where the rules were read."""
    ranks: tuple[int, ...] = (1, 8, 16, 32, 64, 128, 256, 320, 512)
    """Values that max_lora_rank may have."""
    default_rank: int = 16
    """max_lora_rank of a server that is not told otherwise."""
    fields: frozenset[str] = _FIELDS
    """Fields of an adapter's configuration that the loader reads; it passes over all others without a word."""
    plain_starts: frozenset[str] = frozenset({"gaussian", "eva", "orthogonal", "mica", "lora_ga"})
    """Values of init_lora_weights that leave the base as it is."""

    @property
    def name(self) -> str:
        """As messages say it."""
        return f"vLLM {self.version}" if self.version else "vLLM"


KNOWN = LoaderRules(version="0.32.0", source="the rules of 0.32.0 that this release knows; the installed one could not be read")
"""Where no vLLM can be read on this machine (one behind a URL, in a container)."""


def read_rules(package: Path) -> LoaderRules:
    """Rules of the vLLM whose package folder this is; what cannot be read is taken from :data:`KNOWN`."""
    config = _tree(package / "config" / "lora.py") or _tree(package / "config" / "__init__.py") or ast.Module([], [])
    helper = _tree(package / "lora" / "peft_helper.py") or ast.Module([], [])
    ranks = _ranks(config) or KNOWN.ranks
    return LoaderRules(
        version=_version(package),
        source=str(package),
        ranks=ranks,
        default_rank=_default_rank(config) or KNOWN.default_rank,
        fields=_fields(helper) or KNOWN.fields,
        plain_starts=_plain_starts(helper),
    )


def _tree(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


def _version(package: Path) -> str:
    try:
        found = re.search(r"version = '([^']+)'", (package / "_version.py").read_text(encoding="utf-8"))
    except OSError:
        return ""
    return found.group(1) if found else ""


def _ranks(tree: ast.Module) -> tuple[int, ...]:
    """``MaxLoRARanks = Literal[…]``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "MaxLoRARanks" for to in node.targets):
            return tuple(value for value in _constants(node.value) if type(value) is int)
    return ()


def _default_rank(tree: ast.Module) -> int | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "max_lora_rank":
            numbers = _constants(node.value) if node.value else []
            return next((number for number in numbers if type(number) is int), None)
    return None


def _fields(tree: ast.Module) -> frozenset[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "PEFTHelper":
            return frozenset(
                part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            )
    return frozenset()


def _plain_starts(tree: ast.Module) -> frozenset[str]:
    """Names in ``_init_is_supported``; a loader without it takes each start for plain LoRA, which is not so: ours stands in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "_init_is_supported":
            return frozenset(value for value in _constants(node) if isinstance(value, str))
    return KNOWN.plain_starts


def _constants(tree: ast.AST) -> list[object]:
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
