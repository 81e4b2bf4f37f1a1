"""A domain that holds, to be broken by the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.domain import scaffold_domain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of a freshly scaffolded domain."""
    return scaffold_domain("demo", tmp_path)
