"""Stores for tests: SQLite in a file, and a real Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kickwheel.feedback.store_adapter import SqlEventStore


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of an empty store of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'feedback.sqlite3'}"
        return
    import psycopg

    url = request.getfixturevalue("postgres_server")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    yield url


@pytest.fixture
def store(store_url: str) -> Iterator[SqlEventStore]:
    """An empty store of each kind."""
    opened = SqlEventStore(store_url)
    yield opened
    opened.close()
