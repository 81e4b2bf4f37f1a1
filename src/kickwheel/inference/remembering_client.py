"""A chat client that remembers: every reply is on disk before it is used, so no call is paid for twice, whatever kills us."""

from __future__ import annotations

import threading
from pathlib import Path

from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest
from kickwheel.inference.student_prompt import as_openai
from kickwheel.workspace import append_durably, fingerprint, read_log
from schemas.base import Contract, Sha256


class LoggedReply(Contract):
    """One line of the log. The messages themselves are not in it."""

    key: Sha256
    text: str
    finish_reason: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    first_token_logprobs: dict[str, float] | None = None
    mean_logprob: float | None = None


def call_key(model: str, request: ChatRequest) -> str:
    """Identity of a call: hash of model, messages, schema and sampling."""
    sampling = [request.max_tokens, request.temperature, request.seed, request.top_logprobs, *request.stop]
    return fingerprint(model, as_openai(request.messages), request.json_schema, sampling)


class RememberingClient:
    """A ChatClient in front of another: known requests are answered from the log, others asked once and logged.

    Errors are not logged: they may be tried again. Safe to call from many threads, as long as no two ask the same at once.
    """

    def __init__(self, client: ChatClient, log: Path) -> None:
        self._client = client
        self._log = log
        self._lock = threading.Lock()
        self._known = {row.key: row for row in read_log(log, LoggedReply)}

    @property
    def model(self) -> str:
        """Served model name."""
        return self._client.model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once in all. Raises what the client raises."""
        key = call_key(self.model, request)
        row = self._known.get(key)
        if row is None:
            row = _to_row(key, self._client.complete(request))
            with self._lock:
                append_durably(self._log, [row])
                self._known[key] = row
        return _to_reply(row)


def _to_row(key: str, reply: ChatReply) -> LoggedReply:
    return LoggedReply(
        key=key,
        text=reply.text,
        finish_reason=reply.finish_reason,
        model=reply.model,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        first_token_logprobs=None if reply.first_token_logprobs is None else dict(reply.first_token_logprobs),
        mean_logprob=reply.mean_logprob,
    )


def _to_reply(row: LoggedReply) -> ChatReply:
    return ChatReply(
        text=row.text,
        finish_reason=row.finish_reason,
        model=row.model,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        first_token_logprobs=row.first_token_logprobs,
        mean_logprob=row.mean_logprob,
    )
