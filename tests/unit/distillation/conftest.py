"""A tiny base and an adapter of it that has learnt nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kickwheel.testing.instant_trainer import write_untrained_adapter
from tests.tiny_model import write_tiny_model


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "base")


@pytest.fixture(scope="module")
def champion(base: Path, request: pytest.FixtureRequest) -> Path:
    """Of the module's own ``PLAN``."""
    folder = base.parent / "champion"
    write_untrained_adapter(folder, json.loads((base / "config.json").read_text()), request.module.PLAN)
    return folder
