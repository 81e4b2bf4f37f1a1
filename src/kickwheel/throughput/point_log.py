"""Load steps that were measured, kept as they end: a measurement that was killed is taken up where it was."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kickwheel.workspace import append_durably, read_log
from schemas.throughput import LoadPoint


class LoggedPoint(BaseModel):
    """A line of the log. ``right`` and ``tokens`` are of the steps without load, which others are compared with."""

    model_config = ConfigDict(frozen=True)

    key: str
    point: LoadPoint
    right: dict[str, bool] = {}
    tokens: int = 0


class PointLog:
    """An append-only file. What lies in it is handed out once, in its order, before anything is measured again."""

    def __init__(self, path: Path):
        self._path = path
        self._left = [item for item in read_log(path, LoggedPoint) if not item.point.server_died]

    def take(self, key: str) -> LoggedPoint | None:
        """The first step of that kind that has not been taken yet."""
        for index, item in enumerate(self._left):
            if item.key == key:
                return self._left.pop(index)
        return None

    def add(self, item: LoggedPoint) -> LoggedPoint:
        """Keep a step; it is on disk when this returns."""
        append_durably(self._path, [item])
        return item
