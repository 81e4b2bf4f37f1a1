"""What the stages need of a model: a chat client, and a student that turns texts into frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from schemas.frame import Prediction

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One chat completion to ask for."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    json_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    """Constrain the reply to this JSON Schema."""
    stop: tuple[str, ...] = ()
    """The reply ends before the first of these."""
    top_logprobs: int = 0
    """Ask for the log-probabilities of this many alternatives of each token."""


@dataclass(frozen=True)
class ChatReply:
    """What came back."""

    text: str
    finish_reason: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    first_token_logprobs: Mapping[str, float] | None = None
    """Alternatives of the first token with their log-probabilities; None: the server gave none."""
    mean_logprob: float | None = None
    """Mean log-probability of the reply's tokens; None: the server gave none."""
    token_logprobs: tuple[tuple[bytes, float], ...] | None = None
    """The reply's tokens as UTF-8 bytes (one may end inside a character), each with its log-probability; None: none given."""
    alternatives: tuple[Mapping[bytes, float], ...] | None = None
    """For each of the reply's tokens the likeliest ones at its place, as bytes, with their log-probabilities, as many as were
    asked for; None: none given."""


class ChatClient(Protocol):
    """A model behind an OpenAI-compatible chat endpoint."""

    @property
    def model(self) -> str:
        """Served model name."""
        ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once.

        Raises:
            ServiceUnavailable, RateLimited: transient.
            RequestRefused: permanent (context too long, unknown model …).
            BudgetSpent: permanent; nothing was sent.
        """
        ...


class Student(Protocol):
    """Anything that maps utterances to frames: probe, served adapter, in-process model."""

    @property
    def name(self) -> str:
        """Name in reports: tuned, base_zero_shot, probe, …"""
        ...

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """One prediction a text, in order. A reply that is no frame is a prediction with an ``error``, never an exception."""
        ...
