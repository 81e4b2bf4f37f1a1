"""A version on an OpenAI-compatible server (vLLM), asked over pooled connections that stay open.

The ``openai`` client spends several times what the rest of a request does in this process; one POST needs none of it. Errors
are those of :class:`~kickwheel.inference.openai_adapter.OpenAIChatClient`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp

from kickwheel.errors import (
    AccessRefused,
    AnswerTimeout,
    ContextTooLong,
    KickwheelError,
    RateLimited,
    RequestRefused,
    ServiceUnavailable,
)
from kickwheel.inference.frame_codec import STOP
from kickwheel.inference.openai_adapter import is_local, retry_after
from kickwheel.inference.ports import ChatReply
from kickwheel.inference.served_student import MAX_TOKENS, read_reply
from kickwheel.inference.student_prompt import as_openai, student_messages
from schemas.frame import Prediction
from schemas.task import TaskCatalog

KEEP_ALIVE_S = 4.0
"""An idle connection is given up before the other side does (uvicorn: after 5 s), or the next request would meet its end."""

OnFailure = Callable[[str], None]


class UpstreamStudent:
    """A :class:`~kickwheel.serving.ports.LiveStudent` behind a chat endpoint.

    Args:
        url: with ``/v1``.
        connections: most requests at a time; more wait.
        confidence: ask for log-probabilities, without which no confidence is known (about a tenth of a server's rate).
        on_failure: told every failed attempt, by its code: an HTTP status, or connect, timeout, no_completion.
    """

    def __init__(
        self,
        url: str,
        model: str,
        catalog: TaskCatalog,
        *,
        timeout_s: float,
        connections: int,
        confidence: bool,
        on_failure: OnFailure = lambda _code: None,
    ):
        self._url, self._model, self._catalog = url.rstrip("/"), model, catalog
        self._timeout_s, self._on_failure = timeout_s, on_failure
        self._request: dict[str, Any] = {
            "model": model,
            "messages": [],
            "max_tokens": MAX_TOKENS,
            "temperature": 0.0,
            "seed": 0,
            "stop": list(STOP),
            **({"logprobs": True, "top_logprobs": 1} if confidence else {}),
        }
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=KEEP_ALIVE_S),
            timeout=aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(timeout_s, 5.0)),
            trust_env=not is_local(url),
            headers={"Content-Type": "application/json"},
        )

    async def understand(self, text: str) -> Prediction:
        """A frame, or why there is none. Asked again once where the connection broke: the question changes nothing there.

        Raises:
            ServiceUnavailable, AnswerTimeout, RateLimited, ContextTooLong, AccessRefused, RequestRefused
        """
        body = json.dumps({**self._request, "messages": as_openai(student_messages(text))}, ensure_ascii=False).encode()
        try:
            status, wait, answer = await self._post_again_if_broken(body)
        except TimeoutError as error:
            self._on_failure("timeout")
            raise AnswerTimeout(self._say(f"gave no answer within {self._timeout_s:g} s")) from error
        except aiohttp.ClientError as error:
            raise ServiceUnavailable(self._say(f"cannot be reached ({error or type(error).__name__})")) from error
        if status != 200:
            self._on_failure(str(status))
            raise self._from_status(status, wait, answer)
        try:
            reply = _read(json.loads(answer))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            self._on_failure("no_completion")
            raise RequestRefused(self._say("answered with something that is no chat completion")) from error
        return read_reply(text, reply, self._catalog)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _post_again_if_broken(self, body: bytes) -> tuple[int, str | None, bytes]:
        try:
            return await self._post(body)
        except aiohttp.ClientError as error:
            if isinstance(error, TimeoutError):
                raise
            self._on_failure("connect")
        try:
            return await self._post(body)
        except aiohttp.ClientError as error:
            if not isinstance(error, TimeoutError):
                self._on_failure("connect")
            raise

    async def _post(self, body: bytes) -> tuple[int, str | None, bytes]:
        async with self._session.post(f"{self._url}/chat/completions", data=body) as answer:
            return answer.status, answer.headers.get("retry-after"), await answer.read()

    def _from_status(self, status: int, wait: str | None, answer: bytes) -> KickwheelError:
        reason = answer[:500].decode(errors="replace")
        message = self._say(f"answered {status}: {reason}")
        seconds = retry_after(wait, datetime.now(UTC))
        if status == 429 or (status >= 500 and seconds is not None):
            return RateLimited(message, seconds)
        if status >= 500 or status in (408, 409, 425):
            return ServiceUnavailable(message)
        if status in (401, 402, 403, 404):
            return AccessRefused(message)
        if "context length" in reason or "context_length" in reason or "too long" in reason:
            return ContextTooLong(message)
        return RequestRefused(message)

    def _say(self, what: str) -> str:
        return f"model {self._model!r} at {self._url} {what}"


def _read(completion: dict[str, Any]) -> ChatReply:
    choice, usage = completion["choices"][0], completion.get("usage") or {}
    message, tokens = choice["message"], (choice.get("logprobs") or {}).get("content") or []
    refusal = message.get("refusal")
    return ChatReply(
        text=message.get("content") or refusal or "",
        finish_reason="refusal" if refusal else choice.get("finish_reason") or "",
        model=completion.get("model") or "",
        prompt_tokens=usage.get("prompt_tokens", 0),
        completion_tokens=usage.get("completion_tokens", 0),
        mean_logprob=math.fsum(token["logprob"] for token in tokens) / len(tokens) if tokens else None,
        token_logprobs=tuple((_bytes(token), token["logprob"]) for token in tokens) or None,
    )


def _bytes(token: dict[str, Any]) -> bytes:
    return bytes(token["bytes"]) if token.get("bytes") else str(token["token"]).encode()
