"""How long work that tells (done, total) will still take: by its pace lately, not by what was done before it was taken up."""

from __future__ import annotations

from collections import deque

WINDOW_S = 60.0
"""Of the pace that counts: the first steps are slow, and a machine gets busy."""


class TimeLeft:
    """Told how far the work is, it estimates the seconds left."""

    def __init__(self, window_s: float = WINDOW_S):
        self._window_s = window_s
        self._seen: deque[tuple[float, int]] = deque()

    def estimate(self, done: int, total: int, now: float) -> float | None:
        """Seconds left; None while there is no pace to tell by. ``now`` in seconds of any clock that never goes back."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] <= now - self._window_s:
            self._seen.popleft()
        then, before = self._seen[0]
        if done >= total:
            return 0.0
        return (total - done) * (now - then) / (done - before) if done > before else None
