"""The chat client against a real HTTP server: every answer ends in a reply or in one of our errors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from kickwheel.errors import (
    AccessRefused,
    AnswerTimeout,
    ContextTooLong,
    KickwheelError,
    RateLimited,
    RequestRefused,
    ServiceUnavailable,
    is_transient,
)
from kickwheel.inference.batch import complete_many
from kickwheel.inference.openai_adapter import OpenAIChatClient, is_local, retry_after
from kickwheel.inference.ports import ChatReply, ChatRequest, Message
from kickwheel.testing.model_server import Failure, FakeModelServer

KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(reply=lambda messages, _model: f"echo {messages[-1]['content']}") as running:
        yield running


@pytest.fixture
def client(server: FakeModelServer) -> Iterator[OpenAIChatClient]:
    made = OpenAIChatClient(server.url, "base", SecretStr(KEY), 5.0)
    yield made
    made.close()


def ask(text: str = "hello", **more: object) -> ChatRequest:
    return ChatRequest(messages=(Message("user", text),), max_tokens=32, **more)  # type: ignore[arg-type]


def test_a_reply_carries_text_usage_and_the_model_that_answered(client: OpenAIChatClient) -> None:
    reply = client.complete(ask("one two"))
    assert (reply.text, reply.finish_reason, reply.model) == ("echo one two", "stop", "base")
    assert (reply.prompt_tokens, reply.completion_tokens) == (2, 3)
    assert reply.mean_logprob is None
    assert reply.first_token_logprobs is None


def test_log_probabilities_are_asked_for_and_read(client: OpenAIChatClient, server: FakeModelServer) -> None:
    reply = client.complete(ask(top_logprobs=2))
    assert server.chats[0].body["top_logprobs"] == 2
    assert reply.mean_logprob == pytest.approx(-0.1)
    assert reply.first_token_logprobs == {"echo": -0.1, "other": -2.5}
    assert reply.token_logprobs == ((b"echo", -0.1), (b" hel", -0.1), (b"lo", -0.1))


def test_a_json_schema_travels_as_a_strict_response_format(client: OpenAIChatClient, server: FakeModelServer) -> None:
    client.complete(ask(json_schema={"type": "object"}))
    sent = server.chats[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"] == {"type": "object"}
    assert sent["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestRefused),
        (401, AccessRefused),
        (404, AccessRefused),
        (408, ServiceUnavailable),
        (422, RequestRefused),
        (500, ServiceUnavailable),
        (503, ServiceUnavailable),
    ],
)
def test_a_status_becomes_one_of_our_errors_after_one_request(
    client: OpenAIChatClient, server: FakeModelServer, status: int, kind: type[KickwheelError]
) -> None:
    server.failures.append(Failure(status=status))
    with pytest.raises(kind, match=rf"{server.url} answered {status}: injected .*KICKWHEEL_TEACHER__BASE_URL"):
        client.complete(ask())
    assert len(server.chats) == 1


def test_a_rate_limit_says_how_long_to_wait(client: OpenAIChatClient, server: FakeModelServer) -> None:
    """argilla-io/distilabel#1014: honour Retry-After."""
    server.failures.append(Failure(status=429, retry_after="7"))
    with pytest.raises(RateLimited) as caught:
        client.complete(ask())
    assert caught.value.retry_after == 7.0
    assert is_transient(caught.value)


def test_a_service_that_is_down_for_a_while_says_how_long(client: OpenAIChatClient, server: FakeModelServer) -> None:
    server.failures.append(Failure(status=503, retry_after="3"))
    with pytest.raises(RateLimited) as caught:
        client.complete(ask())
    assert caught.value.retry_after == 3.0


@pytest.mark.parametrize(
    "problem",
    [
        {"message": "This model's maximum context length is 2048 tokens. However, you requested 2300 tokens"},
        {"message": "Please shorten it", "code": "context_length_exceeded"},
        {"message": "the request exceeds the available context size (4096 tokens)"},
        {"message": "The decoder prompt (length 2300) is longer than the maximum model length of 2048."},
    ],
    ids=["vLLM", "OpenAI", "llama.cpp", "vLLM 1"],
)
def test_a_request_that_is_too_long_is_told_apart(
    client: OpenAIChatClient, server: FakeModelServer, problem: dict[str, str]
) -> None:
    """refuel-ai/autolabel PR 63."""
    server.failures.append(Failure(status=400, body={"error": problem}))
    with pytest.raises(ContextTooLong):
        client.complete(ask())


def test_a_connection_that_breaks_is_unavailable(client: OpenAIChatClient, server: FakeModelServer) -> None:
    server.failures.append(Failure(reset=True))
    with pytest.raises(ServiceUnavailable, match="cannot be reached"):
        client.complete(ask())
    assert client.complete(ask()).text == "echo hello"


def test_a_used_up_quota_is_not_worth_a_retry(client: OpenAIChatClient, server: FakeModelServer) -> None:
    server.failures.append(Failure(status=429, body={"error": {"message": "pay", "code": "insufficient_quota"}}))
    with pytest.raises(AccessRefused, match="pay"):
        client.complete(ask())


def test_the_key_never_stands_in_a_message(client: OpenAIChatClient, server: FakeModelServer) -> None:
    server.failures.append(Failure(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    with pytest.raises(RequestRefused) as caught:
        client.complete(ask())
    assert server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(caught.value)
    assert "***" in str(caught.value)


def test_a_server_that_is_gone_is_unavailable_and_named(server: FakeModelServer) -> None:
    client = OpenAIChatClient(server.url, "base", "", 5.0, configured_by="KICKWHEEL_SERVER__URL")
    server.die()
    with pytest.raises(ServiceUnavailable, match=rf"{server.url} cannot be reached .*KICKWHEEL_SERVER__URL"):
        client.complete(ask())
    client.close()


def test_a_server_that_hangs_is_unavailable_after_the_time_limit(server: FakeModelServer) -> None:
    server.failures.append(Failure(hang=True))
    client = OpenAIChatClient(server.url, "base", "", 0.2)
    with pytest.raises(AnswerTimeout, match=r"no answer within 0\.2 s"):
        client.complete(ask())
    client.close()


def test_an_endpoint_that_speaks_another_language_is_refused(client: OpenAIChatClient, server: FakeModelServer) -> None:
    server.failures.append(Failure(status=200, body={"hello": "world"}))
    with pytest.raises(RequestRefused, match="no chat completion"):
        client.complete(ask())


def test_a_model_that_wants_the_new_name_of_max_tokens_gets_it_once_and_for_all(
    client: OpenAIChatClient, server: FakeModelServer
) -> None:
    problem = {"error": {"message": "Unsupported parameter: use 'max_completion_tokens' instead."}}
    server.failures.append(Failure(status=400, body=problem))
    assert client.complete(ask()).text == "echo hello"
    client.complete(ask())
    assert [sorted(chat.body.keys() & {"max_tokens", "max_completion_tokens"}) for chat in server.chats] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def test_an_endpoint_that_takes_no_schema_is_asked_without_one_once_and_for_all(
    client: OpenAIChatClient, server: FakeModelServer
) -> None:
    problem = {"error": {"message": "Invalid schema for response_format 'reply': schema must have type 'object'"}}
    server.failures.append(Failure(status=400, body=problem))
    request = ask(json_schema={"anyOf": []})
    assert client.complete(request).text == "echo hello"
    client.complete(request)
    assert ["response_format" in chat.body for chat in server.chats] == [True, False, False]


def test_a_model_that_declines_says_so(client: OpenAIChatClient, server: FakeModelServer) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I can't help with that"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "base", "choices": [choice]}
    server.failures.append(Failure(status=200, body=body))
    reply = client.complete(ask())
    assert (reply.text, reply.finish_reason) == ("I can't help with that", "refusal")


def test_an_endpoint_without_logprobs_is_asked_without_them_once_and_for_all(
    client: OpenAIChatClient, server: FakeModelServer
) -> None:
    server.failures.append(Failure(status=400, body={"error": {"message": "logprobs are not supported with this model"}}))
    request = ask(top_logprobs=1)
    assert client.complete(request).mean_logprob is None
    client.complete(request)
    assert ["logprobs" in chat.body for chat in server.chats] == [True, False, False]


def test_a_proxy_of_the_environment_is_not_asked_for_a_server_on_this_machine(
    server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    client = OpenAIChatClient(server.url, "base", "", 5.0)
    assert client.complete(ask()).text == "echo hello"
    client.close()


def test_many_requests_keep_their_order_and_failures_stay_in_their_row(
    client: OpenAIChatClient, server: FakeModelServer
) -> None:
    """refuel-ai/autolabel PR 63: one bad prompt does not fail the job."""
    server.ttft_s = lambda number: 0.05 if number == 0 else 0.0
    seen: list[int] = []
    server.failures.extend([None, None, Failure(status=400), None])
    outcomes = complete_many(
        client,
        [ask(str(number)) for number in range(8)],
        max_concurrency=4,
        on_reply=lambda index, _outcome: seen.append(index),
    )
    failed = [index for index, outcome in enumerate(outcomes) if isinstance(outcome, RequestRefused)]
    assert len(failed) == 1
    assert sorted(seen) == list(range(8))
    replies = {index: outcome.text for index, outcome in enumerate(outcomes) if isinstance(outcome, ChatReply)}
    assert replies == {index: f"echo {index}" for index in range(8) if index not in failed}


def test_a_callback_that_fails_stops_what_has_not_been_sent(client: OpenAIChatClient, server: FakeModelServer) -> None:
    def disk_full(_index: int, _outcome: object) -> None:
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        complete_many(client, [ask(str(number)) for number in range(50)], max_concurrency=1, on_reply=disk_full)
    assert len(server.chats) < 50


def test_no_requests_give_no_outcomes(client: OpenAIChatClient) -> None:
    assert complete_many(client, [], max_concurrency=4) == []


NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), ("-1", 0.0), ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0), ("soon", None)],
)
def test_retry_after_is_read_in_both_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


def test_only_this_machine_is_local() -> None:
    assert is_local("http://127.0.0.1:8000/v1")
    assert is_local("http://localhost/v1")
    assert not is_local("http://gpu.example.com/v1")
