"""From feedback to a distillation batch."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from kickwheel.distillation.batch import Batch, build_batch
from kickwheel.distillation.replay import ArmAnswers
from kickwheel.errors import StageFailed
from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest
from kickwheel.settings import DistillationSettings
from kickwheel.workspace import read_jsonl
from schemas.feedback import Behaviour, DistillationRow, FeedbackCase, FeedbackEvent
from schemas.frame import Frame, Prediction

SETTINGS = DistillationSettings(champion_share=1.0)
CHINESE = "把昨天🙏的订单同步到湖里"
ENGLISH = "pull the checkout logs"
ORDERS = Frame.from_values(CHINESE, "sync_orders", {"date": "昨天"})
LOGS = Frame.from_values(ENGLISH, "fetch_logs", {"service": "checkout"})
CONTENT = Behaviour(dwell_s=12, scroll=1)
GAVE_UP = Behaviour(dwell_s=2, scroll=0.1, abandoned=True)
CORRECTED = Behaviour(dwell_s=2, scroll=0.1, corrected=True)


class FirstLetter:
    """A teacher that always favours the first letter."""

    model = "first-letter"

    def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply("A", "length", self.model, 30, 1, first_token_logprobs={"A": math.log(0.9), "B": math.log(0.1)})


def case(number: int, text: str, wanted: Frame, when_wrong: Behaviour, *, operator_labels: bool = False) -> FeedbackCase:
    return FeedbackCase(
        id=f"fb-{number}",
        user=f"u-{number}",
        text=text,
        wanted=wanted,
        when_right=CONTENT,
        when_wrong=when_wrong,
        operator_labels=operator_labels,
    )


CASES = [
    case(1, CHINESE, ORDERS, CORRECTED),
    case(2, CHINESE, ORDERS, CORRECTED),
    case(3, ENGLISH, LOGS, GAVE_UP),
    case(4, ENGLISH, LOGS, GAVE_UP, operator_labels=True),
]
PAYMENTS = Frame(intent="sync_payments")
CHAMPION = [Prediction(frame=ORDERS), Prediction(frame=PAYMENTS), Prediction(frame=PAYMENTS), Prediction(error="malformed")]
PROBE = [Prediction(frame=ORDERS)] * 2 + [Prediction(frame=PAYMENTS)] * 2


def build(folder: Path, teacher: ChatClient | None = None, settings: DistillationSettings = SETTINGS) -> Batch:
    return build_batch(
        CASES,
        champion=ArmAnswers("lap-1-tuned", CHAMPION),
        probe=ArmAnswers("probe", PROBE),
        probe_rankings=[["sync_orders"]] * len(CASES),
        teacher=teacher,
        settings=settings,
        experiment="lap-1",
        folder=folder,
    )


def best(row: DistillationRow) -> Frame:
    return max(row.candidates, key=lambda candidate: candidate.target).frame


def test_confirmed_corrected_and_labelled_cases_become_rows_and_a_mere_dislike_does_not(tmp_path: Path) -> None:
    batch = build(tmp_path)
    assert {row.case: best(row) for row in batch.rows} == {"fb-1": ORDERS, "fb-2": ORDERS, "fb-4": LOGS}
    assert all(sum(c.target for c in row.candidates) == pytest.approx(1) for row in batch.rows)
    assert batch.signals_by_rule == {"dwell": 1, "scroll_completed": 1, "correction": 2, "abandoned": 1, "operator_label": 1}
    assert batch.teacher_note == "no teacher: none is configured"
    assert batch.ab.winner is None


def test_what_the_user_wanted_is_a_candidate_only_if_somebody_said_it(tmp_path: Path) -> None:
    unsaid = case(9, ENGLISH, LOGS, Behaviour(dwell_s=20, scroll=1))
    batch = build_batch(
        [unsaid],
        champion=ArmAnswers("m", [Prediction(frame=PAYMENTS)]),
        probe=ArmAnswers("probe", [Prediction(frame=PAYMENTS)]),
        probe_rankings=[["fetch_logs"]],
        teacher=None,
        settings=SETTINGS,
        experiment="e",
        folder=tmp_path,
    )
    assert len(batch.rows) == 1, "a user who seems content with a wrong answer is noise that the batch carries"
    assert LOGS not in [candidate.frame for candidate in batch.rows[0].candidates]


def test_events_and_rows_are_written_as_they_are_returned(tmp_path: Path) -> None:
    batch = build(tmp_path, FirstLetter())
    assert tuple(read_jsonl(Path(batch.events_ref.path), FeedbackEvent)) == batch.events
    assert tuple(read_jsonl(Path(batch.batch_ref.path), DistillationRow)) == batch.rows
    assert (batch.events_ref.rows, batch.batch_ref.rows) == (4, 3)
    slot = best(batch.rows[0]).slots[0]
    assert batch.rows[0].text[slot.start : slot.end] == "昨天"


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = build(tmp_path / "a", FirstLetter()), build(tmp_path / "b", FirstLetter())
    assert first.events_ref.sha256 == second.events_ref.sha256
    assert first.batch_ref.sha256 == second.batch_ref.sha256


def test_the_teacher_note_says_what_the_teacher_gave(tmp_path: Path) -> None:
    note = build(tmp_path, FirstLetter()).teacher_note
    assert note.startswith("first-letter scored 3 of 3 closed sets")
    assert "its first choice is the operator's frame in" in note


def test_the_replay_is_evaluated_against_what_users_wanted(tmp_path: Path) -> None:
    batch = build(tmp_path)
    assert batch.replay_evaluation.split == "replay"
    assert batch.replay_evaluation.overall.rows == 4
    assert batch.replay_evaluation.overall.joint_frame_accuracy == pytest.approx(0.25)
    assert batch.business["champion"].task_completion == pytest.approx(0.25)


def test_cases_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    def build_from(cases: list[FeedbackCase]) -> Batch:
        answers = ArmAnswers("m", [Prediction()] * len(cases))
        return build_batch(
            cases,
            champion=answers,
            probe=answers,
            probe_rankings=[[]] * len(cases),
            teacher=None,
            settings=SETTINGS,
            experiment="e",
            folder=tmp_path,
        )

    empty = build_from([])
    assert (empty.rows, empty.business, empty.ab.winner) == ((), {}, None)
    with pytest.raises(StageFailed, match="'fb-1' stands more than once"):
        build_from([CASES[0], CASES[0]])


def test_only_the_cases_with_the_most_evidence_are_scored_and_distilled(tmp_path: Path) -> None:
    every = build(tmp_path / "every")
    few = build(tmp_path / "few", settings=SETTINGS.model_copy(update={"max_cases": 1}))
    assert len(every.rows) > 1
    assert len(few.rows) == 1
    assert few.rows[0].weight == max(row.weight for row in every.rows)
