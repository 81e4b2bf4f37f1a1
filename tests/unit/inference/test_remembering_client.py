"""What is paid for is remembered; what failed may be tried again, and patiently."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kickwheel.errors import RateLimited, RequestRefused, ServiceUnavailable
from kickwheel.inference.patient_client import Patience, PatientClient
from kickwheel.inference.ports import ChatReply, ChatRequest, Message
from kickwheel.inference.remembering_client import RememberingClient, call_key
from kickwheel.testing.scripted_teacher import ScriptedTeacher

REQUEST = ChatRequest(messages=(Message("user", "a secret question"),), max_tokens=8)


def test_reply_comes_from_the_log_the_second_time(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "calls.jsonl"
    whole = ChatReply("yes", "stop", "m", 3, 1, {"yes": -0.1}, -0.1)
    assert RememberingClient(ScriptedTeacher([whole]), log).complete(REQUEST) == whole
    assert RememberingClient(ScriptedTeacher([]), log).complete(REQUEST) == whole
    assert "secret" not in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, max_tokens=9),
        replace(REQUEST, temperature=0.5),
        replace(REQUEST, seed=1),
        replace(REQUEST, json_schema={"type": "object"}),
        replace(REQUEST, top_logprobs=1),
        replace(REQUEST, stop=("\n\n",)),
        replace(REQUEST, messages=(Message("system", "a secret question"),)),
    ],
)
def test_another_request_or_model_is_another_call(other: ChatRequest) -> None:
    assert call_key("m", other) != call_key("m", REQUEST) != call_key("n", REQUEST)


def test_failure_is_not_remembered(tmp_path: Path) -> None:
    client = RememberingClient(ScriptedTeacher([ServiceUnavailable("down"), "yes"]), tmp_path / "calls.jsonl")
    with pytest.raises(ServiceUnavailable):
        client.complete(REQUEST)
    assert client.complete(REQUEST).text == "yes"


def test_patience_waits_as_it_is_told_and_asks_again() -> None:
    waits: list[float] = []
    model = ScriptedTeacher([RateLimited("429", retry_after=7.0), ServiceUnavailable("503"), "yes"])
    assert PatientClient(model, waits.append).complete(REQUEST).text == "yes"
    assert [int(wait) for wait in waits] == [7, 2]


def test_patience_has_an_end_and_none_for_a_refusal() -> None:
    waits: list[float] = []
    down = PatientClient(ScriptedTeacher([ServiceUnavailable("503")] * 3), waits.append, Patience(tries=3))
    with pytest.raises(ServiceUnavailable):
        down.complete(REQUEST)
    assert len(waits) == 2
    with pytest.raises(RequestRefused):
        PatientClient(ScriptedTeacher([RequestRefused("401")]), waits.append).complete(REQUEST)
    assert len(waits) == 2
