"""Checking a domain: all problems, each with file, line and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kickwheel.domain import check_domain, load_domain, notes_of
from kickwheel.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def append(folder: Path, name: str, *rows: dict[str, Any] | str) -> int:
    """Add rows to a JSONL file; returns the number of the first one's line."""
    path = folder / name
    before = path.read_text(encoding="utf-8").count("\n") if path.exists() else 0
    with path.open("a", encoding="utf-8") as file:
        file.writelines((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)
    return before + 1


def labelled(identifier: str, text: str, intent: str, *slots: tuple[str, str], language: str = "en") -> dict[str, Any]:
    placed = [
        {"name": name, "value": value, "start": text.index(value), "end": text.index(value) + len(value)}
        for name, value in slots
    ]
    return {"id": identifier, "text": text, "language": language, "frame": {"intent": intent, "slots": placed}}


def places(problems: list[InputError]) -> list[tuple[str, int | None, str | None]]:
    return [(Path(str(problem.file)).name, problem.line, problem.field) for problem in problems]


def test_scaffolded_domain_holds(folder: Path) -> None:
    assert check_domain(folder) == []


def test_bundled_example_holds() -> None:
    assert [str(problem) for problem in check_domain(ROOT / "examples" / "dataops")] == []


def test_all_problems_are_found_at_once(folder: Path) -> None:
    line = append(
        folder,
        "seeds.jsonl",
        "{torn",
        labelled("s-1", "make coffee", "make_coffee"),
        labelled("s-2", "pull logs", "fetch_api_logs", ("date", "logs")),
    )
    append(folder, "knowledge.csv", "subject,relation\n")
    (folder / "glossary.yaml").write_text("entities: {orders: [用户订单], api_logs: [API日志]}\n", encoding="utf-8")
    found = places(check_domain(folder))
    assert ("seeds.jsonl", line, None) in found
    assert ("seeds.jsonl", line + 1, "frame.intent") in found
    assert ("seeds.jsonl", line + 2, "frame.slots.0.name") in found
    assert ("knowledge.csv", 1, None) in found


@pytest.mark.parametrize(
    ("row", "field", "why"),
    [
        ({"id": "x", "text": "hi", "language": "fr", "frame": {"intent": "out_of_scope"}}, "language", "'en' or 'zh'"),
        ({"id": "x", "text": "你好", "language": "en", "frame": {"intent": "out_of_scope"}}, "language", "expected 'zh'"),
        ({"id": "x", "text": "hi", "language": "en"}, "frame", "need a label"),
        ({"id": "x", "language": "en", "frame": {"intent": "out_of_scope"}}, "text", "required"),
        ({"id": "x", "text": "hi", "language": "en", "frame": {"intent": "out_of_scope"}, "note": 1}, "note", "not permitted"),
        (labelled("x", "pull everything", "fetch_logs"), "frame.intent", "unknown intent 'fetch_logs'"),
        (
            labelled("x", "pull from yesterday", "fetch_api_logs", ("date", "yesterday")),
            "frame.slots.0.name",
            "has no slot 'date'",
        ),
        (labelled("seeds-0001", "something new", "sync_orders"), "id", "is the id of"),
    ],
)
def test_malformed_row_names_its_field(folder: Path, row: dict[str, Any], field: str, why: str) -> None:
    line = append(folder, "valid.jsonl", row)
    problems = check_domain(folder)
    assert len(problems) == 1
    [problem] = problems
    assert (problem.line, problem.field, why in problem.message) == (line, field, True), str(problem)
    assert Path(str(problem.file)).name in {"valid.jsonl", "seeds.jsonl"}


def test_span_that_is_not_the_value_is_a_problem_in_code_points(folder: Path) -> None:
    """RasaHQ/rasa 6752, HumanSignal/label-studio 1250: offsets of Chinese and emoji shift."""
    good = labelled("x-1", "🚚 把昨天的订单同步一下", "sync_orders", ("date", "昨天"), language="zh")
    append(folder, "valid.jsonl", good)
    assert check_domain(folder) == []
    bad = json.loads(json.dumps(good))
    bad["id"], bad["text"] = "x-2", "把昨天的订单再同步一下🚚"
    append(folder, "valid.jsonl", bad)
    [problem] = check_domain(folder)
    assert "not '昨天'" in problem.message


@pytest.mark.parametrize("text", ["What's for LUNCH, today?!", "ｗｈａｔ's for lunch today", "  what's for lunch   today"])
def test_text_that_stands_in_two_splits_is_a_leak_however_it_is_written(folder: Path, text: str) -> None:
    """The leakage gate: near-identical rows in train and eval."""
    line = append(folder, "eval.jsonl", labelled("leak", text, "out_of_scope"))
    [problem] = check_domain(folder)
    assert (Path(str(problem.file)).name, problem.line, problem.field) == ("eval.jsonl", line, "text")
    assert "seeds.jsonl" in problem.message


def test_feedback_must_not_leak_from_eval_either(folder: Path) -> None:
    behaviour = {"dwell_s": 9, "scroll": 1}
    case = {
        "id": "f-1",
        "user": "u",
        "text": "orders → lake, last night",
        "wanted": {"intent": "sync_orders"},
        "when_right": behaviour,
        "when_wrong": behaviour,
    }
    append(folder, "feedback.jsonl", case, case | {"wanted": {"intent": "nothing"}})
    found = places(check_domain(folder))
    assert ("feedback.jsonl", 2, "id") in found
    assert ("feedback.jsonl", 2, "wanted.intent") in found
    case["text"] = "orders -> lake, last night!"
    append(folder, "feedback.jsonl", case | {"id": "f-2"})
    assert ("feedback.jsonl", 3, "text") in places(check_domain(folder))


def test_review_rows_answer_pool_rows(folder: Path) -> None:
    pool = [json.loads(line) for line in (folder / "pool.jsonl").read_text(encoding="utf-8").splitlines()]
    append(
        folder,
        "review.jsonl",
        labelled(pool[0]["id"], pool[0]["text"], "sync_orders"),
        labelled(pool[1]["id"], "another text", "fetch_api_logs"),
        labelled("nowhere", "no such row", "out_of_scope"),
        labelled(pool[0]["id"], pool[0]["text"], "sync_orders"),
    )
    assert places(check_domain(folder)) == [("review.jsonl", 4, "id"), ("review.jsonl", 2, "text"), ("review.jsonl", 3, "id")]


def test_pool_rows_carry_no_label(folder: Path) -> None:
    line = append(folder, "pool.jsonl", labelled("p-9", "already known", "sync_orders"))
    assert places(check_domain(folder)) == [("pool.jsonl", line, "frame")]


def test_empty_pool_is_legal_with_a_note(folder: Path) -> None:
    (folder / "pool.jsonl").write_text("", encoding="utf-8")
    assert check_domain(folder) == []
    assert any("pool is empty" in note for note in notes_of(load_domain(folder)))


@pytest.mark.parametrize("name", ["seeds.jsonl", "valid.jsonl", "eval.jsonl"])
def test_empty_labelled_split_is_a_problem(folder: Path, name: str) -> None:
    (folder / name).write_text("\n", encoding="utf-8")
    assert places(check_domain(folder)) == [(name, None, None)]


def test_domain_of_one_intent_is_legal(folder: Path) -> None:
    (folder / "requirements" / "tasks.md").write_text(
        "Sync customer orders to the data lake\nIntent: sync_orders\nSlots: date; region\n", encoding="utf-8"
    )
    for name in ("seeds", "valid", "eval"):
        path = folder / f"{name}.jsonl"
        kept = [line for line in path.read_text(encoding="utf-8").splitlines() if "fetch_api_logs" not in line]
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert check_domain(folder) == []


def test_intent_without_seed_row_is_a_note(folder: Path) -> None:
    path = folder / "seeds.jsonl"
    path.write_text(
        "".join(f"{line}\n" for line in path.read_text(encoding="utf-8").splitlines() if "fetch_api_logs" not in line),
        encoding="utf-8",
    )
    assert any("no seed row for fetch_api_logs" in note for note in notes_of(load_domain(folder)))


def test_unknown_setting_names_group_and_setting(folder: Path) -> None:
    with (folder / "domain.yaml").open("a", encoding="utf-8") as file:
        file.write("settings:\n  seeding: {round: 3}\n  tuning: {r: zero}\n")
    assert places(check_domain(folder)) == [
        ("domain.yaml", 7, "settings.seeding.round"),
        ("domain.yaml", 8, "settings.tuning.r"),
    ]


def test_documents_that_name_no_task_are_a_problem(folder: Path) -> None:
    (folder / "requirements" / "tasks.md").write_text("We like data.\n", encoding="utf-8")
    [problem] = check_domain(folder)
    assert "no statement maps to a task" in problem.message


def test_expected_rows_are_checked_for_their_form(folder: Path) -> None:
    append(folder, "expected.jsonl", {"statement": "x", "actoin": "sync"})
    assert places(check_domain(folder)) == [("expected.jsonl", 1, "actoin")]


def test_named_file_that_is_missing_does_not_hide_other_problems(folder: Path) -> None:
    with (folder / "domain.yaml").open("a", encoding="utf-8") as file:
        file.write("files: {glossary: words.yaml, review: answers.jsonl}\n")
    line = append(folder, "eval.jsonl", "[]")
    assert places(check_domain(folder)) == [
        ("domain.yaml", None, "files.review"),
        ("domain.yaml", None, "files.glossary"),
        ("eval.jsonl", line, None),
    ]


def test_slot_values_that_break_a_pattern_or_an_enum_name_their_row(folder: Path) -> None:
    requirements = folder / "requirements" / "tasks.md"
    text = requirements.read_text(encoding="utf-8")
    text = text.replace("region (name, e.g. EMEA)", "region (name, pattern [A-Za-z]+); format (enum: csv, pdf)")
    requirements.write_text(text, encoding="utf-8")
    line = append(
        folder,
        "seeds.jsonl",
        labelled("s-1", "orders of 华东 as CSV", "sync_orders", ("region", "华东"), ("format", "CSV"), language="zh"),
        labelled("s-2", "orders as docx", "sync_orders", ("format", "docx")),
    )
    found = check_domain(folder)
    assert places(found) == [
        ("seeds.jsonl", line, "frame.slots.0.value"),
        ("seeds.jsonl", line + 1, "frame.slots.0.value"),
    ]
    assert "'华东' does not match its pattern [A-Za-z]+" in str(found[0])


def test_example_phrasing_must_not_be_measured_on(folder: Path) -> None:
    requirements = folder / "requirements" / "tasks.md"
    text = requirements.read_text(encoding="utf-8")
    requirements.write_text(f"{text}  - 说法：“Billing: Request logs, pls!”；“push it”\n", encoding="utf-8")
    [problem] = check_domain(folder)
    assert places([problem]) == [("eval.jsonl", 2, "text")]
    assert "fetch_api_logs" in str(problem)


def test_rows_that_seeding_will_keep_out_and_personal_data_are_noted(folder: Path) -> None:
    near = {"id": "p-8", "text": "orders to the lake: last nights", "language": "en"}
    append(folder, "pool.jsonl", near, {"id": "p-9", "text": "订单发给13812345678", "language": "zh"})
    assert check_domain(folder) == []
    notes = notes_of(load_domain(folder))
    assert not any("kept out of training" in note for note in notes)
    append(folder, "pool.jsonl", {**near, "id": "p-10", "text": "orders -> lake, last nights"})
    notes = notes_of(load_domain(folder))
    assert any("kept out of training, 1 of the rows: p-10 is " in note and "eval row eval-0001" in note for note in notes)
    assert any(note.startswith("personal data") and note.endswith("in 1 of the rows: p-9") for note in notes)
