"""A chat client that bears with transient errors for a while: 429, 5xx, a refused connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kickwheel.errors import RateLimited, ServiceError, is_transient
from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest


@dataclass(frozen=True)
class Patience:
    """How long transient errors are borne."""

    tries: int = 4
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    def wait_s(self, error: ServiceError, tried: int, rng: np.random.Generator) -> float | None:
        """Seconds until the next try: what the service asked for or a doubling wait, and up to half as much of jitter.

        None: give up, because the tries are used up or the service wants to be left alone for longer than we bear.
        """
        asked = error.retry_after if isinstance(error, RateLimited) else None
        if tried >= self.tries or (asked or 0.0) > self.longest_wait_s:
            return None
        wait = self.first_wait_s * 2.0 ** (tried - 1) if asked is None else asked
        return min(wait, self.longest_wait_s) + float(rng.random()) * 0.5 * self.first_wait_s


@dataclass(frozen=True)
class PatientClient:
    """A ChatClient in front of another. Safe to call from many threads.

    Args:
        sleep: waits that many seconds; an argument so that a test need not.
    """

    client: ChatClient
    sleep: Callable[[float], None]
    patience: Patience = field(default_factory=Patience)
    seed: int = 0

    @property
    def model(self) -> str:
        """Served model name."""
        return self.client.model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask until there is an answer. Raises what the client raises, once patience is at its end."""
        rng = np.random.default_rng(self.seed)
        tried = 0
        while True:
            tried += 1
            try:
                return self.client.complete(request)
            except ServiceError as error:
                wait = self.patience.wait_s(error, tried, rng) if is_transient(error) else None
                if wait is None:
                    raise
            self.sleep(wait)
