"""What reviewers are shown and what becomes of their answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.review.desk import Desk
from kickwheel.workspace import open_lap
from schemas.frame import Frame
from tests.unit.review.review_world import CATALOG, ITEMS, NOON, ZH, ask, desk, frame, item, world

OUT = Frame(intent="out_of_scope")


def key(number: int) -> tuple[str, str]:
    return ITEMS[number].id, ITEMS[number].text


def test_rows_come_in_order_and_each_answer_is_on_disk_at_once(tmp_path: Path) -> None:
    review = world(tmp_path)
    page = desk(review)
    view = page.view("ana")
    assert view.row is not None
    assert (view.row.id, view.answered, view.left, view.can_undo) == (ITEMS[0].id, 0, 10, False)
    view = page.answer("ana", key(0), "accepted", None)
    assert view.row is not None
    assert (view.row.id, view.answered, view.left, view.can_undo) == (ITEMS[1].id, 1, 9, True)
    (line,) = review.log.answers()
    assert (line.decision, line.frame, line.at) == ("accepted", ITEMS[0].suggestion, NOON)


def test_undo_withdraws_step_by_step_and_shows_what_was_answered(tmp_path: Path) -> None:
    review = world(tmp_path)
    page = desk(review)
    label = frame(ZH, "sync_orders", date="昨天")
    page.answer("ana", key(0), None, OUT)
    page.answer("ana", key(1), None, label)
    view = page.undo("ana")
    assert view.row is not None
    assert (view.row.id, view.row.draft, view.left) == (ITEMS[1].id, label, 9)
    view = page.undo("ana")
    assert view.row is not None
    assert (view.row.id, view.row.draft, view.can_undo) == (ITEMS[0].id, OUT, False)
    assert page.undo("ana").answered == 0
    assert [line.decision for line in review.log.answers()] == ["labelled", "labelled", "withdrawn", "withdrawn"]


def test_undo_is_of_ones_own_answers_only(tmp_path: Path) -> None:
    page = desk(world(tmp_path))
    page.answer("ana", key(0), None, OUT)
    assert page.undo("bo").answered == 0
    assert page.view("ana").answered == 1


def test_a_second_reviewer_sees_what_is_open_and_the_share_for_agreement(tmp_path: Path) -> None:
    for overlap, left in ((0.0, 0), (1.0, 10)):
        page = desk(world(tmp_path / str(overlap)), overlap)
        for number in range(10):
            page.answer("ana", key(number), None, OUT)
        assert page.view("ana").left == 0
        assert page.view("bo").left == left


def test_a_third_one_is_asked_to_settle_a_conflict_without_being_told_what_was_said(tmp_path: Path) -> None:
    page = desk(world(tmp_path), overlap=1.0)
    page.answer("ana", key(0), None, OUT)
    page.answer("bo", key(0), "accepted", None)
    view = page.view("cy")
    assert view.row is not None
    assert (view.row.id, view.row.in_conflict) == (ITEMS[0].id, True)
    page.answer("cy", key(0), None, OUT)
    assert page.status().conflicts == ()
    assert page.status().settled == 1


def test_a_skipped_row_waits_for_others(tmp_path: Path) -> None:
    page = desk(world(tmp_path))
    page.answer("ana", key(0), "skipped", None)
    ana, bo = page.view("ana").row, page.view("bo").row
    assert ana is not None
    assert bo is not None
    assert (ana.id, bo.id) == (ITEMS[1].id, ITEMS[0].id)


def test_rows_that_a_lap_asks_meanwhile_come_up(tmp_path: Path) -> None:
    review = world(tmp_path, ITEMS[:1])
    page = desk(review)
    page.answer("ana", key(0), None, OUT)
    ask(open_lap(review.home, "claims", 2), [item(99, "later", None)])
    view = page.view("ana")
    assert view.row is not None
    assert view.row.id == "pool-0099"


def test_answers_that_do_not_hold_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    review = world(tmp_path)
    page = desk(review)
    with pytest.raises(InputError, match="reload the page"):
        page.answer("ana", (ITEMS[0].id, "another text"), None, OUT)
    with pytest.raises(InputError, match="reload the page"):
        page.answer("ana", key(0), "withdrawn", None)
    with pytest.raises(InputError, match="none of the domain's intents"):
        page.answer("ana", key(0), None, Frame(intent="dance"))
    with pytest.raises(InputError, match="what is the answer"):
        page.answer("ana", key(0), None, None)
    assert review.log.answers() == []


def test_a_clock_that_is_set_back_makes_no_answer_older_than_the_one_before(tmp_path: Path) -> None:
    def clock() -> Iterator[datetime]:
        yield NOON
        yield NOON - timedelta(hours=1)

    times = clock()
    review = world(tmp_path)
    page = Desk(review, CATALOG, overlap=0.0, clock=lambda: next(times))
    page.answer("ana", key(0), "accepted", None)
    page.answer("ana", key(0), None, OUT)
    (row,) = [row for row in review.standings() if row.answers]
    assert row.frame == OUT
