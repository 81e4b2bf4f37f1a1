"""A row's standing, and which rows of a domain are asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import StageInputMissing
from kickwheel.review.queue import DomainReview
from kickwheel.review.standing import settled_rows, standing_of, status_of
from kickwheel.workspace import Lap, open_lap, write_jsonl
from schemas.frame import Frame
from schemas.review import ReviewAnswer
from schemas.utterance import Provenance, Utterance
from tests.unit.review.review_world import BY_ID, ITEMS, ZH, ask, frame, said, world

ROW = ITEMS[1]
RIGHT = frame(ZH, "sync_orders", date="昨天", region="２号仓")
WRONG = Frame(intent="sync_orders")


def add(review: DomainReview, *answers: ReviewAnswer) -> None:
    with review.log.writing():
        review.log.append(answers)


@pytest.mark.parametrize(
    ("labels", "state", "settled"),
    [
        ({}, "open", None),
        ({"ana": None}, "open", None),
        ({"ana": RIGHT}, "settled", RIGHT),
        ({"ana": RIGHT, "bo": RIGHT}, "settled", RIGHT),
        ({"ana": RIGHT, "bo": WRONG}, "conflict", None),
        ({"ana": RIGHT, "bo": WRONG, "cy": RIGHT}, "settled", RIGHT),
        ({"ana": RIGHT, "bo": WRONG, "cy": None}, "conflict", None),
        ({"ana": RIGHT, "bo": WRONG, "cy": Frame(intent="out_of_scope")}, "conflict", None),
    ],
)
def test_most_of_those_who_labelled_a_row_settle_it(labels: dict[str, Frame | None], state: str, settled: Frame | None) -> None:
    standing = standing_of(ROW, {name: said(ROW, name, label) for name, label in labels.items()})
    assert (standing.state, standing.frame) == (state, settled)


def test_the_status_counts_each_row_once_and_names_conflicts(tmp_path: Path) -> None:
    review = world(tmp_path)
    add(
        review,
        said(ROW, "ana", RIGHT),
        said(ROW, "bo", WRONG, minute=1),
        said(ITEMS[2], "ana", ITEMS[2].suggestion, decision="accepted"),
        said(ITEMS[3], "ana", None),
    )
    status = status_of("claims", review.standings())
    assert (status.rows, status.settled, status.open, status.skipped) == (10, 1, 8, 1)
    assert [(conflict.id, len(conflict.answers)) for conflict in status.conflicts] == [(ROW.id, 2)]
    ana, bo = status.reviewers
    assert (ana.name, ana.answered, ana.accepted, ana.skipped) == ("ana", 2, 1, 1)
    assert (bo.name, bo.answered) == ("bo", 1)
    assert [pair.shared for pair in status.pairs] == [1]


def test_settled_rows_are_labelled_rows_of_a_reviewer(tmp_path: Path) -> None:
    review = world(tmp_path)
    add(review, said(ROW, "ana", RIGHT), said(ITEMS[2], "ana", None))
    (row,) = settled_rows(review.standings())
    assert (row.id, row.text, row.frame) == (ROW.id, ZH, RIGHT)
    assert row.provenance == Provenance(source="reviewer", round=1)


def test_rows_come_in_the_order_in_which_they_were_asked_first(tmp_path: Path) -> None:
    review = world(tmp_path)
    lap = open_lap(review.home, "claims", 2)
    again = ITEMS[0].model_copy(update={"reasons": ("pattern",), "round": 2})
    ask(lap, [again, ITEMS[3].model_copy(update={"id": "pool-0099"})])
    rows = review.rows()
    assert [row.item.id for row in rows] == [*BY_ID, "pool-0099"]
    assert (rows[0].item, rows[0].lap, rows[-1].lap) == (again, 1, 2)


def test_a_text_that_was_changed_since_is_asked_about_no_more(tmp_path: Path) -> None:
    review = world(tmp_path)
    changed = ITEMS[0].model_copy(update={"text": "orders of EMEA", "suggestion": None})
    ask(open_lap(review.home, "claims", 2), [changed])
    assert [row.item for row in review.rows() if row.item.id == changed.id] == [changed]


def test_rows_that_are_answered_elsewhere_are_not_asked_about(tmp_path: Path) -> None:
    review = world(tmp_path)
    bundled = Utterance(id=ROW.id, text=ROW.text, language="zh", frame=RIGHT)
    write_jsonl(review.domain.folder / "review.jsonl", [bundled])
    from kickwheel.domain import load_domain

    review = DomainReview(load_domain(review.domain.folder), review.home)
    assert ROW.id not in {row.item.id for row in review.rows()}


def test_rows_whose_label_the_teacher_and_the_probe_agreed_on_later_are_done(tmp_path: Path) -> None:
    from kickwheel.testing.sample_report import sample_report

    review = world(tmp_path)
    lap = open_lap(review.home, "claims", 2)
    train = [
        Utterance(id=row.id, text=row.text, language=row.language, frame=Frame(intent="sync_orders"), provenance=source)
        for row, source in zip(ITEMS[:2], (Provenance(source="teacher"), Provenance(source="reviewer")), strict=True)
    ]
    seeding = sample_report().seeding
    assert seeding is not None
    lap.finish("seeding", seeding.model_copy(update={"train": write_jsonl(tmp_path / "train.jsonl", train)}), "inputs")
    assert [row.item.id for row in review.rows()] == [row.id for row in ITEMS[1:]]


def test_a_label_that_is_to_be_checked_is_asked_about_although_it_was_accepted(tmp_path: Path) -> None:
    from kickwheel.testing.sample_report import sample_report

    check = ITEMS[0].model_copy(update={"reasons": ("audit",)})
    review = world(tmp_path, [check])
    accepted = Utterance(
        id=check.id, text=check.text, language="en", frame=check.suggestion, provenance=Provenance(source="teacher")
    )
    seeding = sample_report().seeding
    assert seeding is not None
    train = write_jsonl(tmp_path / "train.jsonl", [accepted])
    open_lap(review.home, "claims", 1).finish("seeding", seeding.model_copy(update={"train": train}), "inputs")
    assert [row.item for row in review.rows()] == [check]


def test_without_a_lap_there_is_nothing_to_review_and_it_says_what_to_run(tmp_path: Path) -> None:
    review = world(tmp_path)
    empty = DomainReview(review.domain, tmp_path / "elsewhere")
    assert empty.rows() == []
    with pytest.raises(StageInputMissing, match="kickwheel run"):
        _ = empty.catalog


def test_intents_are_those_of_the_newest_lap(tmp_path: Path) -> None:
    review = world(tmp_path)
    newest: Lap = open_lap(review.home, "claims", 3)
    newest.finish("intent", review.catalog.model_copy(update={"tasks": review.catalog.tasks[:1]}), "inputs")
    assert review.catalog.intents == ("sync_orders",)
