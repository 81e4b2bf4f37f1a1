"""The tiny base models, one of each a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_encoder import write_tiny_encoder
from tests.tiny_model import write_tiny_model


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "base")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("tiny") / "encoder")
