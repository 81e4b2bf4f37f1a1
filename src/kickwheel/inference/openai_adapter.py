"""Chat client of any OpenAI-compatible endpoint: vLLM, OpenAI, Ollama, a gateway. Errors are ours; nothing is retried here."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from kickwheel.errors import (
    AccessRefused,
    AnswerTimeout,
    ContextTooLong,
    KickwheelError,
    RateLimited,
    RequestRefused,
    ServiceUnavailable,
)
from kickwheel.inference.ports import ChatReply, ChatRequest
from kickwheel.inference.student_prompt import as_openai

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion, ChatCompletionTokenLogprob
    from openai.types.chat.chat_completion_token_logprob import TopLogprob

_TRANSIENT_4XX = (408, 409, 425)
_ACCESS = (401, 402, 403, 404)
_TOO_LONG = re.compile(r"context.?(length|size|window)|maximum (model|input) length|(prompt|input) is too long", re.IGNORECASE)
"""How vLLM, OpenAI, llama.cpp and gateways say so; OpenAI's code is ``context_length_exceeded``."""


class OpenAIChatClient:
    """A :class:`~kickwheel.inference.ports.ChatClient` over HTTP. May be used from many threads at once.

    Args:
        base_url: including ``/v1``.
        api_key: empty where the endpoint wants none; never part of a message.
        configured_by: the setting that an error tells its reader to look at.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: SecretStr | str = "",
        timeout_s: float = 120.0,
        *,
        configured_by: str = "KICKWHEEL_TEACHER__BASE_URL",
    ):
        import openai

        secret = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key
        self._model = model
        self._base_url = base_url.rstrip("/")
        self._secret = secret
        self._timeout_s = timeout_s
        self._configured_by = configured_by
        self._limit_field = "max_tokens"
        self._gives_logprobs = True
        self._takes_schemas = True
        self._client = openai.OpenAI(
            base_url=self._base_url,
            api_key=secret or "none",
            timeout=timeout_s,
            max_retries=0,
            # A proxy of the environment must not stand between us and a server on this machine.
            http_client=openai.DefaultHttpx2Client(trust_env=False) if is_local(base_url) else None,
        )

    @property
    def model(self) -> str:
        """Served model name."""
        return self._model

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once.

        Raises:
            ServiceUnavailable: the connection failed, or 5xx.
            AnswerTimeout: nothing came within the client's time.
            RateLimited: 429, or 5xx with a Retry-After.
            ContextTooLong: the request has more tokens than the model takes.
            AccessRefused: 401, 402, 403, 404, or a used-up quota.
            RequestRefused: any other 4xx, or an endpoint that does not speak this API.
        """
        import openai

        try:
            return self._read(self._create(request))
        except openai.APITimeoutError as error:
            raise AnswerTimeout(self._say(f"gave no answer within {self._timeout_s:g} s")) from error
        except openai.APIConnectionError as error:
            raise ServiceUnavailable(self._say(f"cannot be reached ({error.__cause__ or error})")) from error
        except openai.APIStatusError as error:
            raise self._from_status(error) from error
        except openai.APIError as error:
            raise RequestRefused(self._say(f"answered with something that is no chat completion ({error})")) from error

    def _create(self, request: ChatRequest) -> ChatCompletion:
        """Send; what an endpoint refuses and can do without is left out from then on."""
        import openai

        field, logprobs = self._limit_field, self._gives_logprobs and request.top_logprobs > 0
        schema = self._takes_schemas and request.json_schema is not None
        try:
            return self._send(request, field, with_logprobs=logprobs, with_schema=schema)
        except openai.BadRequestError as error:
            # Newer OpenAI models only take the new name, most other servers only the old one.
            if field == "max_tokens" and "max_completion_tokens" in str(error):
                self._limit_field = "max_completion_tokens"
            elif logprobs and "logprobs" in str(error):
                self._gives_logprobs = False  # the reply then says that there are none: not the same as low ones
            elif schema and "response_format" in str(error):
                self._takes_schemas = (
                    False  # OpenAI takes no anyOf at the top, others no schema at all; the reply is checked anyway
                )
            else:
                raise
            return self._create(request)

    def _send(self, request: ChatRequest, limit_field: str, *, with_logprobs: bool, with_schema: bool) -> ChatCompletion:
        more: dict[str, Any] = {limit_field: request.max_tokens}
        if with_schema and request.json_schema is not None:
            schema = {"name": "reply", "strict": True, "schema": dict(request.json_schema)}
            more["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.stop:
            more["stop"] = list(request.stop)
        if with_logprobs:
            more |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        completion: ChatCompletion = self._client.chat.completions.create(
            model=self._model,
            messages=as_openai(request.messages),  # type: ignore[arg-type]
            temperature=request.temperature,
            seed=request.seed,
            **more,
        )
        return completion

    def _read(self, completion: ChatCompletion) -> ChatReply:
        if not getattr(completion, "choices", None):
            raise RequestRefused(self._say("answered with something that is no chat completion: is the path (…/v1) right?"))
        choice = completion.choices[0]
        tokens = (choice.logprobs.content if choice.logprobs else None) or []
        usage = completion.usage
        refusal = choice.message.refusal
        return ChatReply(
            text=choice.message.content or refusal or "",
            finish_reason="refusal" if refusal else choice.finish_reason or "",
            model=completion.model or self._model,
            prompt_tokens=usage.prompt_tokens if usage else 0,
            completion_tokens=usage.completion_tokens if usage else 0,
            first_token_logprobs={item.token: item.logprob for item in tokens[0].top_logprobs} if tokens else None,
            mean_logprob=math.fsum(token.logprob for token in tokens) / len(tokens) if tokens else None,
            token_logprobs=tuple((_bytes(token), token.logprob) for token in tokens) or None,
            alternatives=tuple({_bytes(other): other.logprob for other in token.top_logprobs} for token in tokens) or None,
        )

    def _from_status(self, error: openai.APIStatusError) -> KickwheelError:
        status = error.status_code
        message = self._say(f"answered {status}: {_reason(error)}")
        if status in _ACCESS or (status == 429 and "insufficient_quota" in (error.code, error.type)):
            return AccessRefused(message)
        wait = retry_after(error.response.headers.get("retry-after"), datetime.now(UTC))
        if status == 429 or (status >= 500 and wait is not None):
            return RateLimited(message, wait)
        if status >= 500 or status in _TRANSIENT_4XX:
            return ServiceUnavailable(message)
        if error.code == "context_length_exceeded" or _TOO_LONG.search(_reason(error)):
            return ContextTooLong(message)
        return RequestRefused(message)

    def _say(self, what: str) -> str:
        text = f"model {self._model!r} at {self._base_url} {what}"
        if self._secret:
            text = text.replace(self._secret, "***")
        return f"{text} (setting {self._configured_by})"


def is_local(url: str) -> bool:
    """Whether a URL points at this machine."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds to wait, from a Retry-After header in either of its two forms; None where it says nothing usable."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _bytes(token: ChatCompletionTokenLogprob | TopLogprob) -> bytes:
    """A token may end in the middle of a character: only its bytes, where the server gives them, say what it is."""
    return bytes(token.bytes) if token.bytes else token.token.encode()


def _reason(error: openai.APIStatusError) -> str:
    body = error.body
    reason = body.get("message") if isinstance(body, dict) else None
    return str(reason or error.message)[:500]
