"""What every test shares: no network but this machine, settings that no environment leaks into, one Prefect test server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["tests.postgres_server"]

os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("MPLBACKEND", "agg")
if "PYTEST_XDIST_WORKER" in os.environ:
    # A worker a core: two threads each would wait for one another.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own settings must not decide whether a test passes."""
    for name in list(os.environ):
        if name.startswith("KICKWHEEL_") and name not in {"KICKWHEEL_FORBID_SKIPS", "KICKWHEEL_UPDATE_SNAPSHOTS"}:
            monkeypatch.delenv(name)
    # MLflow writes its own choice of a store there: what is set first is taken away again after the test.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """A real Prefect server on a temporary database, one a session."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where everything is installed (CI), a skipped test is a failure: KICKWHEEL_FORBID_SKIPS=1."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("KICKWHEEL_FORBID_SKIPS") and skipped and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line(f"{len(skipped)} tests were skipped where none may be", red=True)
