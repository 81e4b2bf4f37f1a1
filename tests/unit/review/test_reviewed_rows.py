"""What the seeding stage takes from reviewers, and when it counts as new input."""

from __future__ import annotations

from pathlib import Path

from kickwheel.review.queue import DomainReview
from kickwheel.review.reviewed_rows import answers_copy, copy_answers, reviewed_rows, with_reviewed
from kickwheel.workspace import open_lap
from schemas.frame import Frame
from schemas.utterance import Provenance, Utterance
from tests.unit.review.review_world import CATALOG, ITEMS, ZH, frame, said, world

LABEL = frame(ZH, "sync_orders", date="昨天")
POOL = [Utterance(id=row.id, text=row.text, language=row.language) for row in ITEMS]


def answered(folder: Path) -> DomainReview:
    review = world(folder)
    with review.log.writing():
        review.log.append([said(ITEMS[1], "ana", LABEL), said(ITEMS[2], "ana", None)])
    return review


def test_without_answers_there_is_no_copy(tmp_path: Path) -> None:
    review = world(tmp_path)
    lap = open_lap(review.home, "claims", 1)
    assert copy_answers(review, lap) == 0
    assert not answers_copy(lap).exists()
    assert reviewed_rows(lap, POOL, CATALOG).answers == {}


def test_answers_to_this_lap_s_questions_settle_them(tmp_path: Path) -> None:
    review = answered(tmp_path)
    lap = open_lap(review.home, "claims", 1)
    assert copy_answers(review, lap) == 1
    people = reviewed_rows(lap, POOL, CATALOG)
    assert people.known == []
    assert {row_id: row.frame for row_id, row in people.answers.items()} == {ITEMS[1].id: LABEL}


def test_answers_to_earlier_laps_are_labelled_rows_from_the_start(tmp_path: Path) -> None:
    review = answered(tmp_path)
    lap = open_lap(review.home, "claims", 2)
    copy_answers(review, lap)
    people = reviewed_rows(lap, POOL, CATALOG)
    assert (dict(people.answers), [row.frame for row in people.known]) == ({}, [LABEL])


def test_the_copy_stays_as_it_was_while_people_go_on(tmp_path: Path) -> None:
    review = answered(tmp_path)
    lap = open_lap(review.home, "claims", 1)
    copy_answers(review, lap)
    before = answers_copy(lap).read_bytes()
    with review.log.writing():
        review.log.append([said(ITEMS[1], "ana", None, minute=9, decision="withdrawn")])
    assert answers_copy(lap).read_bytes() == before
    assert copy_answers(review, lap) == 0
    assert answers_copy(lap).read_bytes() == b""


def test_answers_that_the_pool_or_the_tasks_no_longer_bear_out_are_left(tmp_path: Path) -> None:
    review = answered(tmp_path)
    lap = open_lap(review.home, "claims", 1)
    copy_answers(review, lap)
    changed = [row.model_copy(update={"text": "another"}) for row in POOL]
    assert reviewed_rows(lap, changed, CATALOG).answers == {}
    fewer = CATALOG.model_copy(update={"tasks": CATALOG.tasks[1:]})
    assert reviewed_rows(lap, POOL, fewer).answers == {}


def test_a_person_s_label_takes_the_place_of_another(tmp_path: Path) -> None:
    teacher = POOL[1].model_copy(update={"frame": Frame(intent="sync_orders"), "provenance": Provenance(source="teacher")})
    seed = POOL[0].model_copy(update={"frame": Frame(intent="out_of_scope")})
    person = POOL[1].model_copy(update={"frame": LABEL, "provenance": Provenance(source="reviewer")})
    new = POOL[2].model_copy(update={"frame": Frame(intent="fetch_logs")})
    assert with_reviewed([seed, teacher], [person, new]) == [seed, person, new]
