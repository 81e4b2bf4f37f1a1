"""What a long measurement has done already: an append-only log, so that a kill costs one start and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from kickwheel.workspace import append_durably, read_log

Result = TypeVar("Result", bound=BaseModel)


class _Line(BaseModel):
    key: str
    result: dict[str, object]


class TrialLog(Generic[Result]):
    """Results by key. ``of`` is everything that they depend on, as a fingerprint: other inputs, another log."""

    def __init__(self, folder: Path, name: str, of: str, kind: type[Result]):
        self._path = folder / f"{name}-{of[:16]}.jsonl"
        self._kind = kind
        self._known: dict[str, Result] = {}
        for line in read_log(self._path, _Line):
            try:
                self._known[line.key] = kind.model_validate(line.result)
            except ValidationError:
                continue  # of another version of the contract: measured anew

    def once(self, key: str, measure: Callable[[], Result]) -> Result:
        """The result of that key: the known one, or measured now and on disk before this returns."""
        if key not in self._known:
            self.add(key, measure())
        return self._known[key]

    def add(self, key: str, result: Result) -> None:
        """Keep a result."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        append_durably(self._path, [_Line(key=key, result=result.model_dump(mode="json"))])
        self._known[key] = result

    @property
    def results(self) -> tuple[Result, ...]:
        """All that is known, in the order in which it was measured."""
        return tuple(self._known.values())
