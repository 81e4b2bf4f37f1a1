"""Rules, agreement, the queue and the heat map."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.seeding.checks import failed_checks, failed_rules
from kickwheel.seeding.coverage import coverage
from kickwheel.seeding.review_queue import ReviewItem, ReviewQueue, settle
from schemas.frame import Frame, Slot
from schemas.task import SlotSpec, TaskCatalog
from tests.unit.seeding.seeding_world import CATALOG, SEEDS, row, task

TEXT = "sync 😀 orders of EMEA for -- yesterday"


def frame(intent: str = "sync_orders", **values: str) -> Frame:
    return Frame.from_values(TEXT, intent, values)


@pytest.mark.parametrize(
    ("label", "broken"),
    [
        (frame(region="EMEA", date="yesterday"), ()),
        (frame("out_of_scope"), ()),
        (frame("drop_tables"), ("unknown_intent",)),
        (frame("enrich_profiles", region="EMEA"), ("foreign_slot",)),
        (frame(date="--"), ("blank_slot",)),
        (frame(region=" EMEA"), ("ragged_slot",)),
        (frame(region=TEXT), ("whole_text",)),
        (Frame(intent="sync_orders", slots=(Slot(name="region", value="LATAM", start=0, end=5),)), ("span_not_in_text",)),
        (
            Frame(
                intent="sync_orders",
                slots=(Slot(name="date", value="sync", start=0, end=4), Slot(name="date", value="for", start=22, end=25)),
            ),
            ("repeated_slot",),
        ),
    ],
)
def test_each_rule_is_named(label: Frame, broken: tuple[str, ...]) -> None:
    assert failed_rules(TEXT, label, CATALOG) == broken


def test_an_enum_slot_takes_its_values_in_any_width_or_case() -> None:
    spec = SlotSpec(name="format", type="enum", values=("CSV", "pdf"))
    catalog = TaskCatalog(domain="d", tasks=(task(1, "export_report", spec),))
    text = "export as ｃｓｖ or docx"
    assert failed_rules(text, Frame.from_values(text, "export_report", {"format": "ｃｓｖ"}), catalog) == ()
    assert failed_rules(text, Frame.from_values(text, "export_report", {"format": "docx"}), catalog) == ("value_not_allowed",)


@pytest.mark.parametrize(
    ("value", "broken"), [("SKU-104", ()), ("ＳＫＵ-104", ()), ("sku-104", ("pattern",)), ("SKU-104b", ("pattern",))]
)
def test_a_pattern_is_matched_by_the_whole_value(value: str, broken: tuple[str, ...]) -> None:
    spec = SlotSpec(name="sku", type="code", pattern=r"[A-Z]{3}-\d+")
    catalog = TaskCatalog(domain="d", tasks=(task(1, "validate_inventory", spec),))
    text = f"查一下 {value} 的库存"
    assert failed_rules(text, Frame.from_values(text, "validate_inventory", {"sku": value}), catalog) == broken


def test_agreement_needs_intent_and_every_slot() -> None:
    label = frame(region="EMEA", date="yesterday")
    assert failed_checks(TEXT, label, CATALOG, label) == ()
    assert failed_checks(TEXT, label, CATALOG, frame(region="EMEA")) == ("slots_disagree",)
    assert failed_checks(TEXT, label, CATALOG, frame("fetch_logs")) == ("intent_disagrees",)


def item(row_id: str, text: str, reason: str = "intent_disagrees") -> ReviewItem:
    return ReviewItem(id=row_id, text=text, language="en", reasons=(reason,), probe_confidence=0.4, round=2)


def test_adding_to_the_queue_twice_changes_nothing(tmp_path: Path) -> None:
    queue = ReviewQueue(tmp_path / "queue.jsonl")
    queue.add([item("a", "x"), item("b", "y")])
    queue.add([item("b", "y"), item("c", "z")])
    assert [entry.id for entry in queue.items()] == ["a", "b", "c"]


def test_a_torn_line_of_the_queue_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "queue.jsonl"
    ReviewQueue(path).add([item("a", "x")])
    path.write_bytes(path.read_bytes() + b'{"id": "b", "te')
    ReviewQueue(path).add([item("c", "z")])
    assert [entry.id for entry in ReviewQueue(path).items()] == ["a", "c"]


def test_answers_settle_their_items_and_the_rest_waits() -> None:
    answer = row("a", "logs from kong 昨天", "fetch_logs", service="kong", date="昨天")
    settled, waiting = settle([item("a", answer.text), item("b", "y")], {"a": answer})
    assert [(entry.id, entry.frame) for entry in settled] == [("a", answer.frame)]
    assert settled[0].provenance is not None
    assert (settled[0].provenance.source, settled[0].provenance.round) == ("reviewer", 2)
    assert [entry.id for entry in waiting] == ["b"]


def test_an_answer_without_a_frame_leaves_its_row_waiting() -> None:
    blank = row("a", "x", "out_of_scope").model_copy(update={"frame": None})
    assert settle([item("a", "x")], {"a": blank}) == ([], [item("a", "x")])


def test_an_answer_to_another_text_is_refused() -> None:
    with pytest.raises(InputError, match="'a' belongs to the text"):
        settle([item("a", "x")], {"a": row("a", "quite another", "out_of_scope")})


def test_coverage_counts_rows_by_intent_slot_and_language_zeros_included() -> None:
    cells = {(cell.intent, cell.slot, cell.language): cell.rows for cell in coverage(SEEDS, CATALOG)}
    assert cells["sync_orders", "-", "en"] == 3
    assert cells["sync_orders", "-", "zh"] == 9
    assert cells["sync_orders", "region", "zh"] == 3
    assert cells["enrich_profiles", "-", "zh"] == 0
    assert cells["out_of_scope", "-", "en"] == 5
    assert sum(rows for (_, slot, _), rows in cells.items() if slot == "-") == len(SEEDS)


def test_coverage_shows_intents_that_no_row_has() -> None:
    cells = coverage([], CATALOG, languages=["zh", "en"])
    assert {cell.rows for cell in cells} == {0}
    assert {(cell.intent, cell.slot) for cell in cells} >= {("fetch_logs", "service"), ("out_of_scope", "-")}
    assert {cell.language for cell in cells} == {"en", "zh"}
