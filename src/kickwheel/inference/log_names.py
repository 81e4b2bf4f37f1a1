"""Where the logs of model servers lie: one file a start, kept."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path


def log_file(home: Path, now: datetime | None = None) -> Path:
    """A new log under ``home``, named by the time; a start never writes over the log of another."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%S.%f")
    return home / "logs" / f"vllm-{stamp}.log"
