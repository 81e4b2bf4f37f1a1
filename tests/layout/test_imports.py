"""Who may import what: one direction, heavy libraries in few files and late, contracts a leaf."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL_LIBRARIES = {"torch", "transformers", "peft"}


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of the modules that a syntax tree imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_import_time(tree: ast.Module) -> Iterator[str]:
    """Modules imported when the file itself is: not those inside functions, nor under ``if TYPE_CHECKING``."""
    for node in tree.body:
        checking = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if not checking and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from imported(node)


def sources(*folders: str) -> list[Path]:
    return sorted(path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*.py"))


def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def roots(names: Iterator[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def test_import_contracts_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


@pytest.mark.parametrize("path", sources("schemas"), ids=str)
def test_contracts_import_the_standard_library_and_pydantic_only(path: Path) -> None:
    assert roots(imported(tree_of(path))) <= sys.stdlib_module_names | {"pydantic", "schemas"}


@pytest.mark.parametrize("path", sources("src/kickwheel", "flows", "tasks"), ids=str)
def test_model_libraries_are_imported_late_and_by_few(path: Path) -> None:
    tree = tree_of(path)
    assert not MODEL_LIBRARIES & roots(at_import_time(tree)), f"{path}: import them inside the function that needs them"
    if MODEL_LIBRARIES & roots(imported(tree)):
        stages = {"tuning", "distillation", "embedding", "inference", "cli"}  # the CLI's doctor tells which torch is there
        assert path.stem.endswith("_adapter") or path.stem == "doctor", f"{path}: only adapters touch models"
        assert path.parent.name in stages, f"{path}: only {', '.join(sorted(stages))} touch models"


@pytest.mark.parametrize("path", sources("src/kickwheel", "flows", "tasks"), ids=str)
def test_nobody_imports_vllm_or_pyplot(path: Path) -> None:
    names = set(imported(tree_of(path)))
    assert "vllm" not in roots(iter(names)), "vLLM lives in an environment of its own: talk to it over HTTP"
    assert "matplotlib.pyplot" not in names, "pyplot is global state: draw on Figure objects"


def printed_by(code: str) -> str:
    """What a fresh interpreter prints."""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_command_line_starts_without_heavy_libraries() -> None:
    heavy = ("torch", "transformers", "peft", "mlflow", "prefect", "datasets", "sklearn", "matplotlib")
    code = f"import sys, kickwheel.cli; print(','.join(n for n in {heavy!r} if n in sys.modules))"
    assert printed_by(code) == ""


def test_reading_the_contracts_needs_neither_numpy_nor_the_domain() -> None:
    names = [path.stem for path in sources("schemas") if path.stem != "__init__"]
    code = f"import sys, importlib; [importlib.import_module('schemas.' + n) for n in {names!r}]"
    code += "; print(','.join(n for n in ('numpy', 'kickwheel', 'prefect') if n in sys.modules))"
    assert printed_by(code) == ""
