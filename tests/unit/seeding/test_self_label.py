"""Whatever the teacher does ends as a frame or a typed error of that row, and is on disk before it is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kickwheel.errors import (
    AccessRefused,
    AnswerTimeout,
    BudgetSpent,
    ContextTooLong,
    RateLimited,
    RequestRefused,
    ServiceUnavailable,
    StageFailed,
)
from kickwheel.inference.patient_client import Patience
from kickwheel.inference.ports import ChatReply, ChatRequest
from kickwheel.seeding.label_log import LabelLog, TeacherCall
from kickwheel.seeding.self_label import SelfLabeller, TeacherLabel
from kickwheel.seeding.teacher_prompt import TeacherPrompt
from kickwheel.testing.scripted_teacher import Answer, ScriptedTeacher
from kickwheel.workspace import read_log
from tests.unit.seeding.seeding_world import CATALOG, POOL, SEEDS, TRUTH, asked_text, oracle

ROWS = POOL[:8]


def labeller(
    teacher: ScriptedTeacher, log: Path, sleep: Callable[[float], None] = lambda _: None, concurrency: int = 4
) -> SelfLabeller:
    prompt = TeacherPrompt(CATALOG, SEEDS, few_shot=2)
    return SelfLabeller(teacher, prompt, CATALOG, LabelLog(log), concurrency, seed=0, sleep=sleep)


def label_with(answer: Answer, log: Path) -> tuple[list[TeacherLabel], ScriptedTeacher]:
    """The teacher answers the third row as told and the others rightly."""
    teacher = ScriptedTeacher(lambda request: answer if asked_text(request) == ROWS[2].text else oracle(request))
    return labeller(teacher, log).label(ROWS), teacher


FAULTS: list[tuple[Answer, str, int]] = [
    (ChatReply('{"intent": "sync_orders", "sl', "length", "m", 9, 9), "truncated", 2),
    ("not JSON at all", "malformed", 2),
    ('{"intent": "drop_tables", "slots": {}}', "unknown_intent", 2),
    ('{"intent": "enrich_profiles", "slots": {"region": "pool0"}}', "unknown_slot", 2),
    ('{"intent": "sync_orders", "slots": {"region": "Atlantis"}}', "span_not_in_text", 2),
    ('{"intent": "sync_orders", "slots": {"region": 5}}', "wrong_shape", 2),
    ("  ", "empty", 2),
    (RateLimited("slow down", retry_after=3.0), "rate_limited", 4),
    (ServiceUnavailable("500"), "unavailable", 4),
    (AnswerTimeout("no answer within 120 s"), "timeout", 4),
    (RequestRefused("no such parameter"), "refused", 1),
    (ContextTooLong("2300 tokens"), "context_too_long", 1),
    (ChatReply("I can't help with that", "refusal", "m", 9, 9), "declined", 2),
    (ChatReply("", "content_filter", "m", 9, 0), "declined", 2),
]


@pytest.mark.parametrize(("answer", "error", "asked"), FAULTS, ids=[fault[1] for fault in FAULTS])
def test_a_fault_is_a_typed_error_of_its_row_and_no_row_is_lost(answer: Answer, error: str, asked: int, tmp_path: Path) -> None:
    """argilla-io/distilabel 52 and 956, refuel-ai/autolabel 325 and PR 63, vllm-project/vllm 8350."""
    labels, teacher = label_with(answer, tmp_path / "log.jsonl")
    assert [label.row for label in labels] == ROWS
    assert [label.prediction.error for label in labels] == [error if n == 2 else None for n in range(len(ROWS))]
    assert all(label.prediction.frame == TRUTH[label.row.id].frame for n, label in enumerate(labels) if n != 2)
    assert sum(asked_text(request) == ROWS[2].text for request in teacher.requests) == asked
    logged = [call for call in read_log(tmp_path / "log.jsonl", TeacherCall) if call.utterance == ROWS[2].id]
    assert logged[-1].error == error
    assert logged[-1].raw == labels[2].prediction.raw


def test_fenced_json_is_read(tmp_path: Path) -> None:
    labels, teacher = label_with(f"```json\n{oracle_reply(2)}\n```", tmp_path / "log.jsonl")
    assert labels[2].prediction.frame == TRUTH[ROWS[2].id].frame
    assert len(teacher.requests) == len(ROWS)


def oracle_reply(index: int) -> str:
    frame = TRUTH[ROWS[index].id].frame
    assert frame is not None
    return json.dumps({"intent": frame.intent, "slots": frame.values})


def test_a_refused_reply_is_shown_with_its_error_once(tmp_path: Path) -> None:
    teacher = ScriptedTeacher(["{", oracle_reply(0)])
    label = labeller(teacher, tmp_path / "log.jsonl").label(ROWS[:1])[0]
    assert label.prediction.frame == TRUTH[ROWS[0].id].frame
    assert [call.attempt for call in label.calls] == [1, 2]
    assert [(m.role, m.content) for m in teacher.requests[1].messages[-3:-1]] == [("user", ROWS[0].text), ("assistant", "{")]
    assert "malformed" in teacher.requests[1].messages[-1].content


def test_chinese_and_emoji_spans_hold(tmp_path: Path) -> None:
    rows = [row for row in POOL if row.text.startswith("😀把昨天")]
    labels = labeller(ScriptedTeacher(oracle), tmp_path / "log.jsonl").label(rows)
    assert rows
    for label in labels:
        assert label.prediction.frame is not None
        slot = label.prediction.frame.slots[0]
        assert (slot.value, slot.start, label.row.text[slot.start : slot.end]) == ("昨天", 2, "昨天")


def test_the_wait_that_a_service_asks_for_is_kept(tmp_path: Path) -> None:
    """argilla-io/distilabel 1014."""
    waits: list[float] = []
    teacher = ScriptedTeacher([RateLimited("429", retry_after=7.0), ServiceUnavailable("503"), oracle_reply(0)])
    labels = labeller(teacher, tmp_path / "log.jsonl", waits.append).label(ROWS[:1])
    assert labels[0].prediction.frame == TRUTH[ROWS[0].id].frame
    assert 7.0 <= waits[0] <= 7.5
    assert 2.0 <= waits[1] <= 2.5


def test_a_wait_beyond_patience_ends_the_row() -> None:
    rng = np.random.default_rng(0)
    assert Patience().wait_s(RateLimited("429", retry_after=3600.0), 1, rng) is None
    assert Patience().wait_s(ServiceUnavailable("503"), 4, rng) is None


def test_nobody_at_the_endpoint_stops_the_stage_at_once(tmp_path: Path) -> None:
    teacher = ScriptedTeacher(lambda _: ServiceUnavailable("http://gone:1/v1 cannot be reached"))
    with pytest.raises(StageFailed, match=r"no teacher.*http://gone:1/v1"):
        labeller(teacher, tmp_path / "log.jsonl", concurrency=2).label(POOL)
    assert len(teacher.requests) < len(POOL)


def test_an_endpoint_that_dies_midway_costs_rows_not_the_stage(tmp_path: Path) -> None:
    alive = iter(range(5))
    teacher = ScriptedTeacher(lambda request: oracle(request) if next(alive, None) is not None else ServiceUnavailable("gone"))
    labels = labeller(teacher, tmp_path / "log.jsonl", concurrency=1).label(ROWS)
    assert [label.prediction.error for label in labels] == [None] * 5 + ["unavailable"] * 3


def test_a_call_in_the_log_is_never_made_again_and_transient_ones_are(tmp_path: Path) -> None:
    """argilla-io/distilabel 469 and 1065."""
    log = tmp_path / "log.jsonl"
    first, _ = label_with(ServiceUnavailable("500"), log)
    teacher = ScriptedTeacher(oracle)
    second = labeller(teacher, log).label(ROWS)
    assert [asked_text(request) for request in teacher.requests] == [ROWS[2].text]
    assert [label.prediction for n, label in enumerate(second) if n != 2] == [
        p.prediction for n, p in enumerate(first) if n != 2
    ]
    assert second[2].prediction.frame == TRUTH[ROWS[2].id].frame


def test_another_model_or_another_prompt_is_another_call(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    labeller(ScriptedTeacher(oracle), log).label(ROWS)
    other = ScriptedTeacher(oracle, model="another")
    labeller(other, log).label(ROWS)
    assert len(other.requests) == len(ROWS)


def test_no_logprobs_is_not_low_confidence(tmp_path: Path) -> None:
    """refuel-ai/autolabel PR 664 and 746."""
    sure = ChatReply(oracle_reply(1), "stop", "m", 1, 1, mean_logprob=-0.5)
    labels = labeller(ScriptedTeacher([oracle_reply(0), sure]), tmp_path / "log.jsonl", concurrency=1).label(ROWS[:2])
    assert labels[0].prediction.confidence is None
    assert labels[1].prediction.confidence == pytest.approx(np.exp(-0.5))


def test_progress_counts_up_to_all_rows(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    labeller(ScriptedTeacher(oracle), tmp_path / "log.jsonl").label(ROWS, lambda done, total: seen.append((done, total)))
    assert seen == [(n + 1, len(ROWS)) for n in range(len(ROWS))]


def test_a_bug_in_the_client_is_not_taken_for_a_bad_row(tmp_path: Path) -> None:
    def broken(_: ChatRequest) -> Answer:
        return ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        labeller(ScriptedTeacher(broken), tmp_path / "log.jsonl").label(ROWS)


@pytest.mark.parametrize("error", [RequestRefused("a new parameter"), AccessRefused("wrong key"), AnswerTimeout("slow")])
def test_what_says_nothing_about_the_request_is_asked_again_by_the_next_run(error: Exception, tmp_path: Path) -> None:
    """A key that was corrected must not meet the refusals of the wrong one."""
    label_with(error, tmp_path / "log.jsonl")
    labels, teacher = label_with(oracle_reply(2), tmp_path / "log.jsonl")
    assert len(teacher.requests) == 1
    assert labels[2].prediction.frame == TRUTH[ROWS[2].id].frame


def test_a_text_that_is_too_long_for_the_model_is_not_sent_twice(tmp_path: Path) -> None:
    label_with(ContextTooLong("2300 tokens"), tmp_path / "log.jsonl")
    labels, teacher = label_with(oracle_reply(2), tmp_path / "log.jsonl")
    assert teacher.requests == []
    assert labels[2].prediction.error == "context_too_long"


def test_a_wrong_key_stops_the_stage_at_once(tmp_path: Path) -> None:
    teacher = ScriptedTeacher(lambda _: AccessRefused("401: Incorrect API key"))
    with pytest.raises(StageFailed, match=r"no teacher.*Incorrect API key.*correct its address, key"):
        labeller(teacher, tmp_path / "log.jsonl", concurrency=1).label(POOL)
    assert len(teacher.requests) == 3


def test_a_spent_budget_ends_rows_without_a_trace_in_the_log(tmp_path: Path) -> None:
    left = iter(range(5))
    teacher = ScriptedTeacher(lambda request: oracle(request) if next(left, None) is not None else BudgetSpent("max_calls 5"))
    labels = labeller(teacher, tmp_path / "log.jsonl", concurrency=1).label(ROWS)
    assert [label.prediction.error for label in labels] == [None] * 5 + ["budget_spent"] * 3
    assert len(read_log(tmp_path / "log.jsonl", TeacherCall)) == 5
    richer = ScriptedTeacher(oracle)
    assert all(label.prediction.frame for label in labeller(richer, tmp_path / "log.jsonl").label(ROWS))
    assert len(richer.requests) == 3


def test_the_confidence_of_intent_and_slots_is_kept_with_the_call(tmp_path: Path) -> None:
    """refuel-ai/autolabel 867."""
    frame = TRUTH[ROWS[0].id].frame
    assert frame is not None
    text = json.dumps({"intent": frame.intent, "slots": frame.values})
    tokens = tuple((piece.encode(), -0.1) for piece in [text[at : at + 4] for at in range(0, len(text), 4)])
    sure = ChatReply(text, "stop", "m", 1, 1, mean_logprob=-0.1, token_logprobs=tokens)
    first = labeller(ScriptedTeacher([sure]), tmp_path / "log.jsonl").label(ROWS[:1])[0].prediction
    again = labeller(ScriptedTeacher([]), tmp_path / "log.jsonl").label(ROWS[:1])[0].prediction
    assert first == again
    assert first.intent_confidence is not None
    assert first.intent_confidence < (first.confidence or 0)
    assert set(first.slot_confidence) == set(frame.values)


def test_logprobs_are_asked_for(tmp_path: Path) -> None:
    teacher = ScriptedTeacher(oracle)
    labeller(teacher, tmp_path / "log.jsonl").label(ROWS[:1])
    assert teacher.requests[0].top_logprobs == 1


def voted(answers: list[Answer], log: Path) -> tuple[TeacherLabel, ScriptedTeacher]:
    teacher = ScriptedTeacher(answers)
    made = labeller(teacher, log)
    made.votes = len(answers)
    return made.label(ROWS[:1])[0], teacher


def test_of_several_votes_the_majority_is_the_label(tmp_path: Path) -> None:
    other = '{"intent": "enrich_profiles", "slots": {}}'
    label, teacher = voted([other, oracle_reply(0), oracle_reply(0)], tmp_path / "log.jsonl")
    assert label.prediction.frame == TRUTH[ROWS[0].id].frame
    assert label.vote_share == pytest.approx(2 / 3)
    assert label.answer.frame == label.prediction.frame
    assert [(request.temperature, request.seed) for request in teacher.requests] == [(0.0, 0), (0.7, 1), (0.7, 2)]
    assert len({call.key for call in label.calls}) == 3


def test_without_a_majority_there_is_no_label(tmp_path: Path) -> None:
    other = '{"intent": "enrich_profiles", "slots": {}}'
    label, _ = voted([other, oracle_reply(0)], tmp_path / "log.jsonl")
    assert (label.prediction.frame, label.prediction.error, label.vote_share) == (None, "no_majority", 0.5)


def test_votes_that_are_no_frames_do_not_count_as_votes_for_one(tmp_path: Path) -> None:
    label, _ = voted([RequestRefused("a"), RequestRefused("b")], tmp_path / "log.jsonl")
    assert (label.prediction.error, label.vote_share) == ("refused", 0.0)
