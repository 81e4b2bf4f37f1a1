"""Chat client of any OpenAI-compatible endpoint: vLLM, OpenAI, Ollama, a gateway. Errors are ours; nothing is retried here."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from kickwheel.errors import KickwheelError, RateLimited, RequestRefused, ServiceUnavailable
from kickwheel.inference.ports import ChatReply, ChatRequest
from kickwheel.inference.student_prompt import as_openai

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

_TRANSIENT_4XX = (408, 409, 425)


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
            ServiceUnavailable: refused, timed out, 5xx.
            RateLimited: 429, with the service's Retry-After.
            RequestRefused: any other 4xx, a used-up quota, or an endpoint that does not speak this API.
        """
        import openai

        try:
            return self._read(self._create(request))
        except openai.APITimeoutError as error:
            raise ServiceUnavailable(self._say(f"no answer within {self._timeout_s:g} s")) from error
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
        try:
            return self._send(request, field, with_logprobs=logprobs)
        except openai.BadRequestError as error:
            # Newer OpenAI models only take the new name, most other servers only the old one.
            if field == "max_tokens" and "max_completion_tokens" in str(error):
                self._limit_field = "max_completion_tokens"
            elif logprobs and "logprobs" in str(error):
                self._gives_logprobs = False  # the reply then says that there are none: not the same as low ones
            else:
                raise
            return self._create(request)

    def _send(self, request: ChatRequest, limit_field: str, *, with_logprobs: bool) -> ChatCompletion:
        more: dict[str, Any] = {limit_field: request.max_tokens}
        if request.json_schema is not None:
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
        return ChatReply(
            text=choice.message.content or "",
            finish_reason=choice.finish_reason or "",
            model=completion.model or self._model,
            prompt_tokens=usage.prompt_tokens if usage else 0,
            completion_tokens=usage.completion_tokens if usage else 0,
            first_token_logprobs={item.token: item.logprob for item in tokens[0].top_logprobs} if tokens else None,
            mean_logprob=math.fsum(token.logprob for token in tokens) / len(tokens) if tokens else None,
        )

    def _from_status(self, error: openai.APIStatusError) -> KickwheelError:
        status = error.status_code
        message = self._say(f"answered {status}: {_reason(error)}")
        if status == 429 and "insufficient_quota" in (error.code, error.type):
            return RequestRefused(message)
        if status == 429:
            return RateLimited(message, retry_after(error.response.headers.get("retry-after"), datetime.now(UTC)))
        if status >= 500 or status in _TRANSIENT_4XX:
            return ServiceUnavailable(message)
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


def _reason(error: openai.APIStatusError) -> str:
    body = error.body
    reason = body.get("message") if isinstance(body, dict) else None
    return str(reason or error.message)[:500]
