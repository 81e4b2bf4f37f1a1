"""Reads a server's log while it starts, and notes when each line came: the log's own times are whole seconds."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from kickwheel.inference.startup_phases import LogLine

_EVERY_S = 0.05


class StartupWatch:
    """Use as a context manager around the start; ``lines`` are there after it. Times count from the begin of the block."""

    def __init__(self, log: Path):
        self._log = log
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="startup-watch", daemon=True)
        self._partial = ""
        self.lines: list[LogLine] = []

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.unlink(missing_ok=True)
        self._begin = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join(5)

    def _watch(self) -> None:
        place = 0
        ended = False
        while not ended:
            ended = self._end.wait(_EVERY_S)
            try:
                with self._log.open("rb") as file:
                    file.seek(place)
                    new = file.read()
            except FileNotFoundError:
                continue
            place += len(new)
            self._take(new.decode("utf-8", errors="replace"))

    def _take(self, text: str) -> None:
        at = time.monotonic() - self._begin
        *whole, self._partial = (self._partial + text).split("\n")
        self.lines += [LogLine(at, line) for line in whole]
