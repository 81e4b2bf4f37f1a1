"""The layout that ARCHITECTURE.md promises: where things lie, how they are named, and which names would break an import."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.lap import STAGES

ROOT = Path(__file__).resolve().parents[2]
CODE = ("src/kickwheel", "flows", "tasks", "schemas", "benchmarks")
OURS = {"flows", "tasks", "schemas", "tests", "kickwheel"}


def modules(*folders: str) -> list[Path]:
    """Python files below folders of the repository, relative to its root."""
    found = sorted(path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assert found, f"no Python file under {folders}: is the test looking in the right place?"
    return found


def test_mlflow_folder_holds_operations_only() -> None:
    assert (ROOT / "mlflow" / "README.md").is_file()
    assert [path.name for path in (ROOT / "mlflow").rglob("*.py")] == []


def test_import_mlflow_is_the_installed_package_even_from_the_root() -> None:
    # find_spec alone would take the bare folder for a namespace package: only a file outside it tells the truth
    code = "import importlib.util as u; s = u.find_spec('mlflow'); print(s.origin or 'a bare folder')"
    origin = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(origin).name == "__init__.py"
    assert Path(origin).parent != ROOT / "mlflow"
    assert importlib.metadata.version("mlflow")


def test_flow_file_shadows_no_library() -> None:
    """Prefect puts ``flows/`` at the front of the path when it loads ``flows/x.py:x``: x.py then wins over any library x."""
    installed = {name for name, owners in importlib.metadata.packages_distributions().items() if set(owners) != {"kickwheel"}}
    taken = installed | sys.stdlib_module_names | OURS | {"mlflow", "datasets", "evaluate", "wandb"}
    assert {"prefect", "pydantic", "json"} <= taken
    assert [path.name for path in modules("flows") if path.stem in taken and path.stem != "__init__"] == []


def test_no_top_level_folder_takes_a_library_s_name() -> None:
    assert [name for name in ("datasets", "evaluate", "wandb", "prefect", "torch") if (ROOT / name).exists()] == []


def test_test_folders_are_named_by_kind_and_shadow_nothing_of_ours() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {"layout", "unit", "contracts", "orchestration", "interfaces", "real"} >= folders - {"snapshots"}
    assert not folders & (OURS | {"mlflow"})


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("layer", ["flows", "tasks", "src/kickwheel"])
def test_stage_noun_stands_in_every_layer(stage: str, layer: str) -> None:
    place = ROOT / layer / (f"{stage}/__init__.py" if layer == "src/kickwheel" else f"{stage}.py")
    assert place.is_file(), f"{place.relative_to(ROOT)} is missing: a stage is spelled the same in every layer"


def test_every_package_of_the_wheel_is_a_package() -> None:
    for folder in ("src/kickwheel", "flows", "tasks", "schemas"):
        assert (ROOT / folder / "__init__.py").is_file()
    packages = {path.parent for path in modules("src/kickwheel")}
    assert [str(folder) for folder in packages if not (ROOT / folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("path", modules("src/kickwheel", "flows", "tasks", "schemas"), ids=str)
def test_module_is_short_and_named_for_an_idea(path: Path) -> None:
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= 400, f"{path}: split it"
    assert not re.search(r"util|helper|common|misc", path.stem), f"{path}: name it for what it is about"


def test_flow_files_hold_no_classes() -> None:
    """A flow file is loaded a second time under its bare stem: a class in it would be two classes."""
    for path in modules("flows"):
        assert not re.search(r"^\s*class ", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), path


def documents() -> list[Path]:
    """What a reader is told: Markdown, and the files that install and deploy."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("mlflow/*"), *ROOT.glob("requirements*.txt")]
    found += [*ROOT.glob("requirements/*"), *(ROOT / name for name in ("Makefile", "prefect.yaml", "pyproject.toml"))]
    return sorted(path.relative_to(ROOT) for path in found if path.is_file())


@pytest.mark.parametrize("path", documents(), ids=str)
def test_document_names_no_machine_and_no_package_host(path: Path) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.$}])/(?:work|tmp|root|home)/\S*", text) == []
    hosts = set(re.findall(r"https?://([^/\s\"'`)>]+)/\S*(?:simple|pypi|whl)\b", text))
    assert not hosts
    assert not re.search(r"--(?:extra-)?index-url[ =]https?://(?!pypi\.org|download\.pytorch\.org)", text)
