"""Rows for Label Studio and back: code points as its editor counts them, UTF-16 as it once did, never a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kickwheel.errors import InputError
from kickwheel.review.exchange import take
from kickwheel.review.label_studio import interface, read_annotations, tasks
from kickwheel.review.text_units import from_utf16, utf16_length
from schemas.frame import Frame
from schemas.review import ReviewAnswer
from tests.unit.review.review_world import CATALOG, ITEMS, NOON, ZH, ZH_LOGS, frame, world

RIGHT = frame(ZH, "sync_orders", date="昨天", region="２号仓")


def exported(result: list[dict[str, Any]], number: int = 1, **annotation: object) -> dict[str, Any]:
    """A task of a JSON export with one annotation."""
    made = {"id": 5, "result": result, "was_cancelled": False, "completed_by": 3, "updated_at": "2026-11-30T08:00:00.5Z"}
    row = ITEMS[number]
    return {"id": 17, "data": {"id": row.id, "text": row.text}, "annotations": [made | annotation], "project": 1}


def choice(intent: str) -> dict[str, Any]:
    return {"from_name": "intent", "to_name": "text", "type": "choices", "value": {"choices": [intent]}}


def region(name: str, start: int, end: int, text: str | None) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [name]} | ({} if text is None else {"text": text})
    return {"id": "x", "from_name": "slots", "to_name": "text", "type": "labels", "value": value}


def read(folder: Path, *listed: dict[str, Any], reviewer: str = "") -> tuple[list[ReviewAnswer], list[InputError]]:
    path = folder / "export.json"
    folder.mkdir(exist_ok=True)
    path.write_text(json.dumps(listed, ensure_ascii=False), encoding="utf-8")
    return read_annotations(path, world(folder).standings(), CATALOG, reviewer=reviewer, at=NOON)


def test_a_suggestion_that_is_confirmed_there_comes_back_as_it_went(tmp_path: Path) -> None:
    made = json.loads(tasks(world(tmp_path).standings(), "open").text)
    assert [task["data"]["id"] for task in made] == [row.id for row in ITEMS]
    suggested = [task for task in made if task["predictions"]]
    for task in suggested:  # what its editor does when a prediction is submitted as it stands
        task["annotations"] = [
            {"result": task["predictions"][0]["result"], "completed_by": {"id": 1, "email": "ana@example.com"}}
        ]
    answers, problems = read(tmp_path / "back", *suggested)
    assert problems == []
    assert {answer.id: answer.frame for answer in answers} == {row.id: row.suggestion for row in ITEMS if row.suggestion}
    assert {(answer.decision, answer.reviewer, answer.via) for answer in answers} == {
        ("accepted", "ana@example.com", "label_studio")
    }


@pytest.mark.parametrize("unit", ["code points", "UTF-16"])
def test_spans_of_chinese_text_with_emoji_come_back_whichever_unit_they_are_in(unit: str, tmp_path: Path) -> None:
    """HumanSignal/label-studio 1347 and 1008."""

    def offset(at: int) -> int:
        return at if unit == "code points" else utf16_length(ZH[:at])

    regions = [region(slot.name, offset(slot.start), offset(slot.end), slot.value) for slot in reversed(RIGHT.slots)]
    (answer,), problems = read(tmp_path, exported([*regions, choice("sync_orders")]))
    assert problems == []
    assert answer.frame == RIGHT
    assert (answer.reviewer, answer.at.isoformat()) == ("label-studio-3", "2026-11-30T08:00:00.500000+00:00")


def test_white_space_that_was_marked_along_is_left_out(tmp_path: Path) -> None:
    start = ZH.index(" ２号仓")
    (answer,), _ = read(tmp_path, exported([region("region", start, start + 5, " ２号仓 "), choice("sync_orders")]))
    assert answer.frame is not None
    assert answer.frame.values == {"region": "２号仓"}


def test_a_cancelled_annotation_is_a_skip_and_a_second_import_adds_nothing(tmp_path: Path) -> None:
    answers, _ = read(tmp_path, exported([], was_cancelled=True), exported([choice("fetch_logs")], number=3), reviewer="bo")
    assert [(answer.decision, answer.reviewer) for answer in answers] == [("skipped", "bo"), ("labelled", "bo")]
    log = world(tmp_path / "log").log
    assert take(answers, log).added == 2
    assert take(answers, log).known == 2


@pytest.mark.parametrize(
    ("task", "field", "message"),
    [
        (exported([choice("dance")]), "[0].frame.intent", "none of the domain's intents"),
        (exported([region("date", 7, 9, "昨天")]), "[0].intent", "expected one intent, got none"),
        (exported([region("date", 7, 9, None), choice("sync_orders")]), "[0].slots", "two things in a text with emoji"),
        (exported([region("date", 8, 10, "昨天"), choice("sync_orders")]), "[0].slots", "does not stand at 8:10"),
        (
            exported([region("date", 7, 9, "昨天"), region("region", 8, 9, "天"), choice("sync_orders")]),
            "[0].slots",
            "overlap",
        ),
        (exported([choice("sync_orders")]) | {"data": {"id": "pool-9999", "text": ZH}}, "[0].id", "not in the review queue"),
        (exported([choice("sync_orders")]) | {"data": {"id": ITEMS[1].id, "text": ZH_LOGS}}, "[0].text", "the file says"),
        ({"id": 1, "text": ZH, "intent": "sync_orders"}, "[0].data", "JSON-MIN"),
    ],
)
def test_what_does_not_hold_is_refused_with_its_place(task: dict[str, Any], field: str, message: str, tmp_path: Path) -> None:
    answers, (problem, *_) = read(tmp_path, task)
    assert (answers, problem.field) == ([], field)
    assert message in str(problem)


@pytest.mark.parametrize("content", [b"{}", b"no json", "甲".encode("gbk"), None])
def test_a_file_that_is_no_export_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    if content is not None:
        path.write_bytes(content)
    answers, (problem,) = read_annotations(path, [], CATALOG, reviewer="", at=NOON)
    assert (answers, problem.file) == ([], path)


def test_the_interface_has_all_intents_and_slots_and_keeps_white_space() -> None:
    root = ElementTree.fromstring(interface(CATALOG))  # noqa: S314 - our own text
    assert [node.get("value") for node in root.iter("Choice")] == [*CATALOG.intents, "out_of_scope"]
    assert [node.get("value") for node in root.iter("Label")] == ["date", "region", "service"]
    assert "pre-wrap" in (root.findtext("Style") or "")
    text = root.find("Text")
    assert text is not None
    assert (text.get("value"), text.get("granularity")) == ("$text", "symbol")


@pytest.mark.parametrize("text", ["", "plain", "😀把👩‍👩‍👧昨天", "a\u0301😀"])
def test_utf16_offsets_convert_at_every_character_and_nowhere_else(text: str) -> None:
    places = {utf16_length(text[:at]): at for at in range(len(text) + 1)}
    assert {unit: from_utf16(text, unit) for unit in places} == places
    between = set(range(utf16_length(text) + 2)) - set(places)
    assert all(from_utf16(text, unit) is None for unit in between)


def test_a_row_may_be_out_of_scope(tmp_path: Path) -> None:
    (answer,), _ = read(tmp_path, exported([choice("out_of_scope")]))
    assert answer.frame == Frame(intent="out_of_scope")
