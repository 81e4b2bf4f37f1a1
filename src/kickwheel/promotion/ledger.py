"""The ledger on disk, ``home/<domain>/promotions.jsonl``: appended to, never changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kickwheel.errors import MoveInProgress
from kickwheel.workspace import append_durably, read_log
from schemas.promotion import Move

LOCK_WITHIN_S = 30.0


class Ledger:
    """Moves of one domain."""

    def __init__(self, path: Path):
        self.path = path

    def append(self, move: Move) -> None:
        """Write one line; it is on disk when this returns."""
        append_durably(self.path, [move])

    def lines(self) -> list[Move]:
        """All lines, oldest first."""
        return read_log(self.path, Move)

    def moves(self) -> list[Move]:
        """Moves that are in force or were: done, oldest first."""
        return [line for line in self.lines() if line.phase == "done"]

    def unfinished(self) -> Move | None:
        """The move that was begun last, if nothing says how it ended."""
        lines = self.lines()
        ended = {line.id for line in lines if line.phase != "begun"}
        return next((line for line in reversed(lines) if line.phase == "begun" and line.id not in ended), None)

    @contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Held around a move. A killed holder's lock is free at once.

        Raises:
            MoveInProgress: another process holds it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path.with_suffix(".lock"), timeout=LOCK_WITHIN_S)
        try:
            lock.acquire()
        except Timeout as error:
            raise MoveInProgress(
                f"another process has been moving versions of this domain for {LOCK_WITHIN_S:g} s "
                f"({self.path.with_suffix('.lock')}): wait for it; nothing was changed"
            ) from error
        try:
            yield
        finally:
            lock.release()


def before_champion(moves: list[Move], version: str) -> str | None:
    """The champion that ``version`` was promoted in the place of; None: it was the first, or was never promoted."""
    return next(
        (
            move.from_version
            for move in reversed(moves)
            if move.alias == "champion" and move.kind == "promote" and move.to_version == version
        ),
        None,
    )
