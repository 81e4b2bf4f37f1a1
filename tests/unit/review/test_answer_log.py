"""The log of answers: append-only, the latest of a reviewer counts, two writers never tear each other's lines."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.review.answer_log import AnswerLog, current
from schemas.frame import Frame
from schemas.review import ReviewAnswer
from tests.unit.review.review_world import ITEMS, said

ROW = ITEMS[5]
LABEL, OTHER = Frame(intent="enrich_profiles"), Frame(intent="out_of_scope")


def add(log: AnswerLog, *answers: ReviewAnswer) -> None:
    with log.writing():
        log.append(answers)


def test_a_change_of_mind_is_a_line_more_and_the_latest_counts(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path / "answers.jsonl")
    first = said(ROW, "ana", OTHER)
    add(log, first)
    before = log.path.read_bytes()
    second = said(ROW, "ana", LABEL, minute=1)
    add(log, second)
    assert log.path.read_bytes().startswith(before)
    assert log.answers() == [first, second]
    assert current(log.answers()) == {(ROW.id, ROW.text): {"ana": second}}


def test_two_reviewers_stand_side_by_side(tmp_path: Path) -> None:
    answers = [said(ROW, "ana", LABEL), said(ROW, "李雷", OTHER)]
    assert set(current(answers)[(ROW.id, ROW.text)]) == {"ana", "李雷"}


def test_an_undone_answer_does_not_count_but_stays(tmp_path: Path) -> None:
    answers = [said(ROW, "ana", LABEL), said(ROW, "ana", None, minute=1, decision="withdrawn")]
    assert current(answers) == {(ROW.id, ROW.text): {}}


def test_logs_merge_to_the_same_in_any_order() -> None:
    answers = [said(ROW, "ana", OTHER), said(ROW, "ana", LABEL, minute=2), said(ROW, "bo", None, minute=1)]
    merged = [current(order) for order in itertools.permutations(answers)]
    assert all(one == merged[0] for one in merged)


def test_an_answer_to_another_text_is_an_answer_to_another_row() -> None:
    changed = ROW.model_copy(update={"text": "complete all profiles"})
    assert len(current([said(ROW, "ana", LABEL), said(changed, "ana", OTHER)])) == 2


def test_a_line_torn_by_a_kill_costs_that_line_only(tmp_path: Path) -> None:
    log = AnswerLog(tmp_path / "answers.jsonl")
    add(log, said(ROW, "ana", LABEL), said(ROW, "bo", LABEL))
    log.path.write_bytes(log.path.read_bytes()[:-20])
    add(log, said(ROW, "cy", OTHER))
    assert [answer.reviewer for answer in log.answers()] == ["ana", "cy"]


def test_many_writers_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"

    def write(name: str) -> None:
        log = AnswerLog(path)  # as another process would
        for minute in range(10):
            add(log, said(ROW, name, LABEL, minute=minute))

    writers = [threading.Thread(target=write, args=(f"reviewer {n}",)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(AnswerLog(path).answers()) == 40


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        AnswerLog(tmp_path)
