"""Facts around what a statement names: near ones first, never more than three."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.knowledge import Fact, facts_about, read_facts

GLOSSARY = load_glossary()
FACTS = (
    Fact("payments", "posted to", "ledger"),
    Fact("region", "includes", "EMEA"),
    Fact("orders", "split by", "region"),
    Fact("EMEA", "led from", "London"),
)


def test_facts_within_two_hops_come_by_distance() -> None:
    assert facts_about("每日9点同步用户订单", FACTS, GLOSSARY) == (FACTS[2], FACTS[1])


def test_a_node_counts_by_its_own_name_too() -> None:
    assert facts_about("send it to the Ledger", FACTS, GLOSSARY) == (FACTS[0],)


def test_at_most_three_facts() -> None:
    many = tuple(Fact("orders", "have", f"column {number}") for number in range(9))
    assert facts_about("sync orders", many, GLOSSARY) == many[:3]


def test_nothing_named_is_nothing_known() -> None:
    assert facts_about("同步天气预报", FACTS, GLOSSARY) == ()


def test_file_is_read_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.csv"
    path.write_text('subject,relation,object\norders,also called,"purchases,  buys"\n\n', encoding="utf-8")
    assert read_facts(path) == (Fact("orders", "also called", "purchases, buys"),)
    assert read_facts(None) == ()


def test_line_without_three_cells_is_named(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.csv"
    path.write_text("subject,relation,object\norders,region\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"knowledge\.csv:2"):
        read_facts(path)
