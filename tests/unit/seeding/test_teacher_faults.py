"""The fault suite: a teacher over HTTP that does everything a teacher can do wrong, in one round.

Typed counts, no lost row, no failed round (argilla-io/distilabel 52, 956, 1014; refuel-ai/autolabel 325, PR 63; vllm-
project/vllm 8350, 38696).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kickwheel.inference.frame_codec import encode_frame
from kickwheel.inference.metered_client import MeteredClient
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatClient
from kickwheel.inference.purse import Budget, Purse, read_spent
from kickwheel.seeding.label_log import TeacherCall
from kickwheel.seeding.rounds import RoundOutcome, run_round
from kickwheel.settings import SeedingSettings
from kickwheel.testing.model_server import Answer, Failure, FakeModelServer, Messages
from kickwheel.workspace import read_log
from tests.unit.seeding.seeding_world import BY_TEXT, POOL, TRUTH, inputs

TOO_LONG = {"error": {"message": "This model's maximum context length is 2048 tokens. However, you requested 2300 tokens"}}

FAULTS: dict[str, tuple[Answer, str | None, int]] = {
    "pool-0a": ("```json\n{right}\n```", None, 1),
    "pool-0b": ('{"intent": "fetch_logs", "sl' + " " * 4000, "truncated", 2),
    "pool-0c": ('{"intent": "drop_tables", "slots": {}}', "unknown_intent", 2),
    "pool-0d": ('{"intent": "sync_orders", "slots": {"region": "Atlantis"}}', "span_not_in_text", 2),
    "pool-1a": ("", "empty", 2),
    "pool-1b": (Failure(status=429, retry_after="2"), "rate_limited", 4),
    "pool-1c": (Failure(status=500), "unavailable", 4),
    "pool-1d": (Failure(hang=True), "timeout", 4),
    "pool-2a": (Failure(reset=True), "unavailable", 4),
    "pool-2b": ('{"intent": "fetch_logs", "sl', "malformed", 2),
    "pool-2c": (Failure(status=400, body=TOO_LONG), "context_too_long", 1),
    "pool-2d": ('{"intent": "enrich_profiles", "slots": {"region": "x"}}', "unknown_slot", 2),
    "pool-3a": ('["sync_orders"]', "wrong_shape", 2),
    "pool-3b": (Failure(status=422), "refused", 1),
    "pool-3c": (Failure(status=200, body={"hello": "world"}), "refused", 1),
}
"""Row -> what the teacher does about it every time, the typed error, and how often it is asked."""

ROWS = [row for row in POOL if not row.id.endswith("e")]
"""Each text once."""


def text_of(messages: Messages) -> str:
    return next(m["content"] for m in reversed(messages) if m["role"] == "user" and m["content"] in BY_TEXT)


def faulty(messages: Messages, _model: str) -> Answer:
    row = BY_TEXT[text_of(messages)]
    assert row.frame is not None
    right = encode_frame(row.frame)
    answer = FAULTS[row.id][0] if row.id in FAULTS else right
    return answer.replace("{right}", right) if isinstance(answer, str) else answer


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(reply=faulty) as running:
        yield running


@pytest.fixture
def client(server: FakeModelServer) -> Iterator[OpenAIChatClient]:
    made = OpenAIChatClient(server.url, server.base_name, "", 0.5)
    yield made
    made.close()


def label_all(folder: Path, client: ChatClient, waits: list[float] | None = None) -> RoundOutcome:
    given = inputs(folder, pool=ROWS, settings=SeedingSettings(rounds=1, per_round=len(ROWS), few_shot=2))
    return run_round(given, 1, client, max_concurrency=4, sleep=(waits if waits is not None else []).append)


def test_every_fault_is_counted_by_type_and_no_row_is_lost(
    server: FakeModelServer, client: OpenAIChatClient, tmp_path: Path
) -> None:
    waits: list[float] = []
    outcome = label_all(tmp_path, client, waits)
    expected = Counter(error for _, error, _ in FAULTS.values() if error)
    assert outcome.report.teacher_errors == dict(sorted(expected.items()))
    assert sorted([*(row.id for row in outcome.labelled), *(item.id for item in outcome.waiting)]) == sorted(
        row.id for row in ROWS
    )
    assert outcome.parsed == len(ROWS) - expected.total()
    reasons = {item.id: item.reasons for item in outcome.waiting}
    assert {row: reasons[row] for row, (_, error, _) in FAULTS.items() if error} == {
        row: (error,) for row, (_, error, _) in FAULTS.items() if error
    }
    asked = Counter(BY_TEXT[text_of(chat.body["messages"])].id for chat in server.chats)
    assert {row: asked[row] for row in FAULTS} == {row: times for row, (_, _, times) in FAULTS.items()}
    assert sum(2 <= wait < 2.5 for wait in waits) >= 3  # what the 429 asked for, and a little jitter


def test_the_raw_reply_of_every_fault_is_kept(server: FakeModelServer, client: OpenAIChatClient, tmp_path: Path) -> None:
    label_all(tmp_path, client)
    last = {call.utterance: call for call in read_log(tmp_path / "teacher_calls.jsonl", TeacherCall)}
    assert set(last) == {row.id for row in ROWS}
    for row, (answer, error, _) in FAULTS.items():
        assert last[row].error == error
        if isinstance(answer, str) and error:
            assert answer.startswith(last[row].raw)
        elif error:
            assert "(setting KICKWHEEL_TEACHER__BASE_URL)" in last[row].message


def test_the_retry_shows_the_model_what_was_wrong(server: FakeModelServer, client: OpenAIChatClient, tmp_path: Path) -> None:
    label_all(tmp_path, client)
    second = [chat.body["messages"] for chat in server.chats if "That reply is wrong" in chat.body["messages"][-1]["content"]]
    told = {BY_TEXT[text_of(messages)].id: messages[-1]["content"] for messages in second}
    assert set(told) == {row for row, (_, _, times) in FAULTS.items() if times == 2}
    assert "there is no such intent" in told["pool-0c"]


def test_the_next_run_asks_only_where_no_answer_came(server: FakeModelServer, client: OpenAIChatClient, tmp_path: Path) -> None:
    first = label_all(tmp_path, client)
    (tmp_path / "round-0001.json").unlink()
    server.requests.clear()
    server.reply = lambda messages, _model: encode_frame(TRUTH[BY_TEXT[text_of(messages)].id].frame)  # type: ignore[arg-type]
    second = label_all(tmp_path, client)
    unsettled = {"rate_limited", "unavailable", "timeout", "refused"}
    again = {BY_TEXT[text_of(chat.body["messages"])].id for chat in server.chats}
    assert again == {row for row, (_, error, _) in FAULTS.items() if error in unsettled}
    assert len(server.chats) == len(again)
    assert second.parsed == first.parsed + len(again)


def test_a_spent_budget_keeps_what_was_paid_for_and_sends_the_rest_to_people(
    server: FakeModelServer, client: OpenAIChatClient, tmp_path: Path
) -> None:
    ledger = tmp_path / "spend.jsonl"

    def run(calls: int) -> RoundOutcome:
        (tmp_path / "round-0001.json").unlink(missing_ok=True)
        return label_all(tmp_path, MeteredClient(client, Purse(ledger, Budget(max_calls=calls))))

    server.reply = lambda messages, _model: encode_frame(TRUTH[BY_TEXT[text_of(messages)].id].frame)  # type: ignore[arg-type]
    outcome = run(7)
    assert len(server.chats) == read_spent(ledger).calls == outcome.parsed == 7
    assert outcome.report.teacher_errors == {"budget_spent": len(ROWS) - 7}
    assert len(outcome.labelled) + len(outcome.waiting) == len(ROWS)
    richer = run(100)
    assert richer.report.teacher_errors == {}
    assert len(server.chats) == read_spent(ledger).calls == len(ROWS)


@pytest.mark.parametrize("k", [0, 5])
def test_kill_minus_nine_at_row_k_then_again_makes_exactly_the_missing_calls(
    k: int, server: FakeModelServer, tmp_path: Path, root: Path
) -> None:
    """One call at a time: the call that was in flight when the process died is the only one that is made twice."""
    n = len(ROWS)
    server.reply = lambda messages, _model: encode_frame(TRUTH[BY_TEXT[text_of(messages)].id].frame)  # type: ignore[arg-type]
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from kickwheel.inference.openai_adapter import OpenAIChatClient\n"
        "from kickwheel.seeding.rounds import run_round\n"
        "from tests.unit.seeding.test_teacher_faults import killed_run\n"
        "killed_run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))\n"
    )
    path = os.pathsep.join([str(root), str(root / "src")])
    command = [sys.executable, "-c", code, server.url, str(tmp_path), str(k)]
    killed = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": path}, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert len(server.chats) == k
    server.requests.clear()
    again = OpenAIChatClient(server.url, server.base_name, "", 5.0)
    outcome = label_all(tmp_path, again)
    again.close()
    assert len(server.chats) == n - k
    assert outcome.parsed == n


def killed_run(url: str, folder: Path, k: int) -> None:
    """Label one row at a time and die by SIGKILL just before call k + 1."""
    client = OpenAIChatClient(url, "base", "", 5.0)
    sent = iter(range(k))

    class Doomed:
        model = client.model

        def complete(self, request):  # type: ignore[no-untyped-def]
            if next(sent, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return client.complete(request)

    given = inputs(folder, pool=ROWS, settings=SeedingSettings(rounds=1, per_round=len(ROWS), few_shot=2))
    run_round(given, 1, Doomed(), max_concurrency=1)
