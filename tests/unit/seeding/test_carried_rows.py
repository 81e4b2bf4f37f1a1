"""What a lap takes over from the one before once tasks have changed."""

from __future__ import annotations

from kickwheel.seeding.carried_rows import carried_rows
from schemas.task import SlotSpec, TaskCatalog
from schemas.utterance import Utterance
from tests.unit.seeding.seeding_world import CATALOG, SEEDS, row, task

RENAMED = TaskCatalog(domain="world", tasks=(task(1, "refresh_orders", SlotSpec(name="region", pattern=r"\D+")),))
OLD = row("s1", "把华东的订单同步到湖里", "sync_orders", region="华东")


def carried(*before: Utterance, now: tuple[Utterance, ...] = ()) -> list[Utterance]:
    return carried_rows(before, {item.id: item for item in now}, RENAMED)


def test_nothing_changes_while_the_tasks_stay() -> None:
    assert carried_rows(SEEDS, {}, CATALOG) == list(SEEDS)


def test_label_of_a_renamed_intent_is_the_one_that_was_migrated() -> None:
    now = row("s1", OLD.text, "refresh_orders", region="华东")
    assert carried(OLD, now=(now,)) == [now]


def test_row_that_nobody_labelled_anew_is_left_out() -> None:
    other_text = row("s1", "another text", "refresh_orders")
    still_old = row("s1", OLD.text, "sync_orders")
    assert [carried(OLD), carried(OLD, now=(other_text,)), carried(OLD, now=(still_old,))] == [[], [], []]


def test_value_that_breaks_a_new_pattern_is_outdated_and_out_of_scope_is_not() -> None:
    broken, fine = row("s2", "orders of EMEA 2", "refresh_orders", region="EMEA 2"), row("s3", "lunch?", "out_of_scope")
    assert carried(broken, fine) == [fine]
