"""The tiny encoder, one a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_encoder import write_tiny_encoder


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("tiny") / "encoder")
