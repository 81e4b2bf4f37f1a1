"""Slots as analysts write them."""

from __future__ import annotations

import pytest

from kickwheel.errors import InputError
from kickwheel.intent.documents import Field
from kickwheel.intent.slot_lines import read_slots
from schemas.task import SlotSpec


def read(text: str) -> tuple[SlotSpec, ...]:
    return read_slots(Field(text, 7), "doc.md")


def test_types_examples_and_descriptions_are_read_in_english() -> None:
    assert read("date; region (name, e.g. EMEA, 华东); `note`; who (person that gets it)") == (
        SlotSpec(name="date", type="date"),
        SlotSpec(name="region", type="name", values=("EMEA", "华东")),
        SlotSpec(name="note"),
        SlotSpec(name="who", description="person that gets it"),
    )


def test_types_examples_and_descriptions_are_read_in_chinese() -> None:
    assert read("date（日期，例如 昨天）、currency（名称，币种，例如 美元、欧元）；sku（编码）") == (
        SlotSpec(name="date", type="date", values=("昨天",)),
        SlotSpec(name="currency", type="name", description="币种", values=("美元", "欧元")),
        SlotSpec(name="sku", type="code"),
    )


def test_enum_holds_its_values() -> None:
    assert read("format (enum: csv, pdf)") == (SlotSpec(name="format", type="enum", values=("csv", "pdf")),)


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("sku (code, pattern [A-Z]{3}-\\d{1,5})", SlotSpec(name="sku", type="code", pattern=r"[A-Z]{3}-\d{1,5}")),
        (
            "sku (code, article number, pattern: (?:A|B)-\\d+, e.g. A-7, B-10)",
            SlotSpec(name="sku", type="code", description="article number", values=("A-7", "B-10"), pattern=r"(?:A|B)-\d+"),
        ),
        ("sku（编码，模式：[A-Z]+，例如 AB）", SlotSpec(name="sku", type="code", values=("AB",), pattern="[A-Z]+")),
        ("city (pattern \\D+)", SlotSpec(name="city", pattern=r"\D+")),
        ("who (patterned paper)", SlotSpec(name="who", description="patterned paper")),
    ],
)
def test_pattern_stands_among_the_details(text: str, slot: SlotSpec) -> None:
    assert read(text) == (slot,)


@pytest.mark.parametrize("text", ["none", "无", "-"])
def test_none_names_no_slots(text: str) -> None:
    assert read(text) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("日期", "lower-case"),
        ("date, date", "twice"),
        ("format (enum)", "without values"),
        ("two words", "no slot"),
        ("Date", "lower-case"),
        ("sku (code, pattern [A-Z)", "no regular expression"),
        ("sku（编码，模式 [A-Z]{3}-\\d+，例如 WH-3）", "'WH-3' does not match"),
    ],
)
def test_what_is_no_slot_names_document_line_and_field(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as error:
        read(text)
    assert (error.value.file, error.value.line, error.value.field) == ("doc.md", 7, "slots")
