"""A small domain, a tiny base model and a Prefect server for whole laps in seconds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kickwheel.domain import scaffold_domain
from tests.tiny_model import write_tiny_model

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "dataops"


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "base")


@pytest.fixture
def small_domain(tmp_path: Path) -> Path:
    """What ``kickwheel init`` writes, with feedback of the domain's own."""
    return scaffold_domain("claims", tmp_path)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example domain with a few rows of each split."""
    folder = tmp_path / "dataops"
    shutil.copytree(EXAMPLE, folder)
    for name, rows in {"seeds": 60, "pool": 30, "valid": 20, "eval": 20, "feedback": 30}.items():
        path = folder / f"{name}.jsonl"
        path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:rows]), encoding="utf-8")
    return folder
