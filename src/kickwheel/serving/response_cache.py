"""Answers that were given before, by version and normal form of the text (white paper F3); least recently used ones go first.

A version is deterministic, so an answer stays right as long as the version is the same. Only in memory, of this process.
"""

from __future__ import annotations

from dataclasses import dataclass

from cachetools import LRUCache

from kickwheel.spellings import NormalText, carried, normal_text
from schemas.frame import Prediction


@dataclass(frozen=True)
class _Entry:
    text: NormalText
    prediction: Prediction


class ResponseCache:
    """At most ``size`` answers; 0: none are kept. For one thread."""

    def __init__(self, size: int):
        self.size = size
        self.hits = 0
        self.misses = 0
        self._entries: LRUCache[tuple[str, str], _Entry] = LRUCache(max(1, size))

    @property
    def hit_rate(self) -> float | None:
        """Share of lookups that found an answer; None: there was no lookup."""
        lookups = self.hits + self.misses
        return self.hits / lookups if lookups else None

    def get(self, version: str, text: str) -> Prediction | None:
        """The version's answer to this text, or to another spelling of it, with slots in code points of ``text``."""
        if not self.size:
            return None
        wanted = normal_text(text)
        entry = self._entries.get((version, wanted.key))
        found = None if entry is None else _respelled(entry, wanted)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def put(self, version: str, text: str, prediction: Prediction) -> None:
        """Keep an answer. One that is no frame is not kept: it may be the model's luck or the server's."""
        if self.size and prediction.frame is not None:
            kept = normal_text(text)
            self._entries[version, kept.key] = _Entry(kept, prediction)


def _respelled(entry: _Entry, wanted: NormalText) -> Prediction | None:
    if entry.prediction.frame is None:
        return None
    if entry.text.text == wanted.text:
        return entry.prediction
    frame = carried(entry.prediction.frame, entry.text, wanted)
    return None if frame is None else entry.prediction.model_copy(update={"frame": frame})
