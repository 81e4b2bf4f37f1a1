"""A place to execute in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kickwheel.execution.bindings import Binding
from kickwheel.execution.placeholders import placeholders_of
from kickwheel.execution.ports import Surroundings
from tests.unit.execution.execution_world import NOW


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "domain").mkdir()
    return tmp_path / "domain"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home" / "data"


@pytest.fixture
def around(folder: Path, home: Path) -> Callable[..., Surroundings]:
    """Surroundings for a binding, on a clock that stands still; waits are appended to ``waits``."""

    def make(bound: Binding, environment: dict[str, str] | None = None, waits: list[float] | None = None) -> Surroundings:
        return Surroundings(
            domain="claims",
            folder=folder,
            work=home.parent / "executions",
            placeholders=placeholders_of(
                bound.model_dump_json(), environment or {}, {"domain": str(folder), "home": str(home)}
            ),
            now=lambda: NOW,
            sleep=(waits if waits is not None else []).append,
            started=NOW,
        )

    return make
