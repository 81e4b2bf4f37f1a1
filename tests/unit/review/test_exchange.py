"""Files out and in: spans survive, twice is once, what does not hold is refused with its line, nobody is overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kickwheel.review.exchange import Choice, read_sheet, sheet, take
from kickwheel.review.queue import DomainReview
from kickwheel.review.standing import status_of
from kickwheel.workspace import read_jsonl, write_jsonl
from schemas.frame import Frame
from schemas.review import ReviewRow
from tests.unit.review.review_world import BY_ID, CATALOG, ITEMS, NOON, ZH, ZH_LOGS, frame, said, world

Line = dict[str, Any]
RIGHT = frame(ZH, "sync_orders", date="昨天", region="２号仓")


def export(review: DomainReview, choice: Choice = "open") -> Path:
    path = review.home / "rows.jsonl"
    write_jsonl(path, sheet(review.standings(), choice))
    return path


def filled(path: Path, fill: Callable[[Line], Line | None]) -> Path:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line | (fill(line) or {}) for line in lines]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def bring_in(review: DomainReview, path: Path, reviewer: str = "ana") -> tuple[int, int, int]:
    answers, problems = read_sheet(path, review.standings(), CATALOG, reviewer=reviewer, at=NOON)
    assert problems == []
    taken = take(answers, review.log)
    return taken.added, taken.known, taken.superseded


def label(line: Line) -> Line | None:
    labels = {ITEMS[1].id: RIGHT, ITEMS[3].id: frame(ZH_LOGS, "fetch_logs", service="支付网关", date="上周")}
    return {"frame": labels[line["id"]].model_dump(mode="json")} if line["id"] in labels else None


def test_spans_of_chinese_text_with_emoji_round_trip(tmp_path: Path) -> None:
    review = world(tmp_path)
    assert bring_in(review, filled(export(review), label)) == (2, 0, 0)
    exported = read_jsonl(export(review, "answered"), ReviewRow)
    assert [row.id for row in exported] == [ITEMS[1].id, ITEMS[3].id]
    for row in exported:
        (answer,) = row.answers
        assert answer.frame is not None
        assert len(answer.frame.slots) == 2
        assert all(row.text[slot.start : slot.end] == slot.value for slot in answer.frame.slots)
    elsewhere = world(tmp_path / "elsewhere")
    assert bring_in(elsewhere, export(review, "all"), reviewer="") == (2, 0, 0)
    assert elsewhere.log.answers() == review.log.answers()


def test_importing_twice_is_importing_once(tmp_path: Path) -> None:
    review = world(tmp_path)
    path = filled(export(review), label)
    bring_in(review, path)
    before = review.log.path.read_bytes()
    assert bring_in(review, path) == (0, 2, 0)
    assert bring_in(review, export(review, "all")) == (0, 2, 0)
    assert review.log.path.read_bytes() == before


@pytest.mark.parametrize("later", [Frame(intent="out_of_scope"), None])
def test_an_old_file_does_not_bring_back_what_its_reviewer_changed_or_undid(later: Frame | None, tmp_path: Path) -> None:
    review = world(tmp_path)
    path = filled(export(review), label)
    bring_in(review, path)
    with review.log.writing():
        decision = "labelled" if later else "withdrawn"
        review.log.append([said(ITEMS[1], "ana", later, minute=5, decision=decision)])  # type: ignore[arg-type]
    assert bring_in(review, path) == (0, 1, 1)
    row = next(row for row in review.standings() if row.item.id == ITEMS[1].id)
    assert row.frame == later


def test_different_answers_of_two_reviewers_are_both_kept_and_told(tmp_path: Path) -> None:
    review = world(tmp_path)
    path = export(review)
    bring_in(review, filled(path, label), "ana")
    other = {"frame": {"intent": "out_of_scope"}}
    bring_in(review, filled(path, lambda line: other if line["id"] == ITEMS[1].id else {"frame": None}), "bo")
    (conflict,) = status_of("claims", review.standings()).conflicts
    assert conflict.id == ITEMS[1].id
    assert {answer.reviewer: answer.frame for answer in conflict.answers} == {"ana": RIGHT, "bo": Frame(intent="out_of_scope")}


def test_rows_to_be_filled_in_do_not_show_what_others_said(tmp_path: Path) -> None:
    review = world(tmp_path)
    with review.log.writing():
        review.log.append([said(ITEMS[1], "ana", RIGHT), said(ITEMS[1], "bo", Frame(intent="out_of_scope"))])
    rows = read_jsonl(export(review, "open"), ReviewRow)
    assert len(rows) == 10
    assert all(row.answers == () for row in rows)
    assert [len(row.answers) for row in read_jsonl(export(review, "conflicts"), ReviewRow)] == [2]


def test_decisions_are_told_by_what_was_filled_in(tmp_path: Path) -> None:
    review = world(tmp_path)
    first = ITEMS[0].suggestion
    assert first is not None
    fills: dict[str, Line] = {
        ITEMS[0].id: {"frame": first.model_dump(mode="json"), "reviewer": "李雷"},
        ITEMS[1].id: {"decision": "skipped"},
        ITEMS[2].id: {"decision": "accepted"},
        ITEMS[4].id: {"decision": "accepted", "frame": {"intent": "out_of_scope"}},
    }
    bring_in(review, filled(export(review), lambda line: fills.get(line["id"])))
    told = {answer.id: (answer.reviewer, answer.decision) for answer in review.log.answers()}
    assert told == {
        ITEMS[0].id: ("李雷", "accepted"),
        ITEMS[1].id: ("ana", "skipped"),
        ITEMS[2].id: ("ana", "accepted"),
        ITEMS[4].id: ("ana", "labelled"),
    }


def marked(name: str, start: int, end: int) -> Line:
    return {"frame": {"intent": "sync_orders", "slots": [{"name": name, "value": "昨天", "start": start, "end": end}]}}


REFUSED: list[tuple[Line, str, str]] = [
    ({"id": "pool-9999", "frame": {"intent": "sync_orders"}}, "id", "not in the review queue"),
    ({"text": "another text", "frame": {"intent": "sync_orders"}}, "text", "the file says 'another text'"),
    ({"frame": {"intent": "dance"}}, "frame.intent", "sync_orders, fetch_logs, enrich_profiles, out_of_scope"),
    (
        marked("service", 7, 9),
        "frame.slots",
        "date, region",
    ),
    (
        marked("date", 12, 14),
        "frame.slots",
        "code points",
    ),
    (
        marked("date", 7, 10),
        "frame.slots.0",
        "does not fit",
    ),
    (
        {"decision": "accepted", "id": ITEMS[3].id, "text": ZH_LOGS},
        "decision",
        "no suggestion",
    ),
    ({"decision": "labelled"}, "frame", "needs a label"),
    ({"decision": "skipped", "frame": {"intent": "sync_orders"}}, "frame", "leave frame out"),
    ({"decision": "maybe"}, "decision", "accepted"),
    ({"colour": "red"}, "colour", "Extra inputs"),
    ({"decision": "skipped", "reviewer": "a\tb"}, "reviewer", "match pattern"),
]


@pytest.mark.parametrize(("fill", "field", "message"), REFUSED, ids=[f"{n}-{field}" for n, (_, field, _) in enumerate(REFUSED)])
def test_what_does_not_hold_is_refused_with_file_line_and_field(fill: Line, field: str, message: str, tmp_path: Path) -> None:
    review = world(tmp_path)
    path = filled(export(review), lambda line: fill if line["id"] == ITEMS[1].id else None)
    answers, (problem,) = read_sheet(path, review.standings(), CATALOG, reviewer="ana", at=NOON)
    assert (problem.file, problem.line, problem.field) == (path, 2, field)
    assert message in str(problem)
    assert answers == []


def test_every_problem_of_a_file_is_told(tmp_path: Path) -> None:
    review = world(tmp_path)
    path = filled(export(review), lambda line: {"frame": {"intent": "dance"}})
    path.write_text("no json\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    _, problems = read_sheet(path, review.standings(), CATALOG, reviewer="ana", at=NOON)
    assert [problem.line for problem in problems] == list(range(1, 12))


def test_an_answer_needs_a_name_and_a_file(tmp_path: Path) -> None:
    review = world(tmp_path)
    path = filled(export(review), label)
    _, problems = read_sheet(path, review.standings(), CATALOG, reviewer="", at=NOON)
    assert [problem.field for problem in problems] == ["reviewer", "reviewer"]
    path.write_text("甲", encoding="gbk")
    _, (encoded,) = read_sheet(path, review.standings(), CATALOG, reviewer="ana", at=NOON)
    assert "UTF-8" in str(encoded)
    _, (missing,) = read_sheet(tmp_path / "none.jsonl", review.standings(), CATALOG, reviewer="ana", at=NOON)
    assert "no such file" in str(missing)


def test_answers_in_a_line_belong_to_that_line(tmp_path: Path) -> None:
    review = world(tmp_path)
    stray = said(BY_ID["pool-0003"], "bo", None).model_dump(mode="json")
    path = filled(export(review), lambda line: {"answers": [stray]} if line["id"] == "pool-0001" else None)
    _, (problem,) = read_sheet(path, review.standings(), CATALOG, reviewer="ana", at=NOON)
    assert (problem.line, problem.field) == (1, "answers")
