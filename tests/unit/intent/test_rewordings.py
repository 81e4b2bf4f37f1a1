"""Who asks, how politely and why: read where it changes nothing, else set aside with a flag, or a question."""

from __future__ import annotations

import pytest

from kickwheel.intent.documents import parse_document
from kickwheel.intent.expectations import MappingLine, lines_of
from kickwheel.intent.glossary import Glossary, load_glossary
from kickwheel.intent.mapping import map_documents
from kickwheel.intent.rules import RulesRecogniser

BASE = load_glossary()
NAMED = Glossary(
    BASE.actions, {**BASE.entities, "till receipts": "receipts", "daily takings": "takings"}, BASE.destinations, {}
)
RULES = RulesRecogniser(NAMED)


def lines(text: str) -> list[MappingLine]:
    document = parse_document(text, "doc", markdown=False)
    return lines_of(map_documents([document], domain="d", zone="UTC", recogniser=RULES))


def read(text: str) -> str:
    [line] = lines(text)
    return f"{line.action} {line.target} {line.cron or line.rrule}" if line.status == "mapped" else f"? {line.reason}"


@pytest.mark.parametrize(
    ("statement", "task"),
    [
        ("Would it be possible to sync orders to the lake every day at 6:00?", "sync orders_datalake 0 6 * * *"),
        ("Legal requires that we archive invoices on Sundays at 3am", "archive invoices 0 3 * * 0"),
        ("It would be great if the invoices were archived on Sundays at 3am", "archive invoices 0 3 * * 0"),
        ("Hello all, could the invoices be archived on Sundays at 3am?", "archive invoices 0 3 * * 0"),
        ("As head of sales I need orders exported daily at 6:00", "export orders 0 6 * * *"),
        ("Step 4: fetch refunds daily at 5:10", "fetch refunds 10 5 * * *"),
        ("refunds / fetch / daily 5:10", "fetch refunds 10 5 * * *"),
        ("| 退款 | 归档 | 每月1号 03:00 |", "archive refunds 0 3 1 * *"),
        ("各位同事好，请每天6点拉取汇率", "fetch exchange_rates 0 6 * * *"),
        ("为满足监管要求，发票须每天6点归档", "archive invoices 0 6 * * *"),
        ("订单入湖，每天6点", "sync orders_datalake 0 6 * * *"),
        ("每天6点入仓订单", "sync orders_warehouse 0 6 * * *"),
        ("Refresh prices in the warehouse daily at 6:00", "sync prices_warehouse 0 6 * * *"),
        ("Fetch till receipts at 9:00 and 13:00 from Monday to Friday", "fetch receipts 0 9,13 * * 1-5"),
        ("Check daily takings at 6 in the morning and 2 in the afternoon every day", "validate takings 0 6,14 * * *"),
        ("Fetch incomming refunds evry Mondey at 7:00", "fetch refunds 0 7 * * 1"),
        ("每天9点同步上海时间表", "sync None 0 9 * * *"),
        ("每天9点同步上海时装订单", "sync None 0 9 * * *"),
    ],
)
def test_what_changes_nothing_is_read(statement: str, task: str) -> None:
    assert read(statement) == task


@pytest.mark.parametrize(
    ("statement", "flag"),
    [
        ("Fetch refunds daily at 5:10, becuase auditors keep asking", "because auditors keep asking"),
        ("| 7 | refunds | fetch | daily 5:10 | accounting |", "accounting"),
        ("Stores rely on it, so please fetch refunds daily at 5:10", "Stores rely on it"),
        ("每天6点拉取汇率，这样下午开会就能看到", "这样下午开会就能看到"),
        ("Fetch refunds daily at 5:10, the night guard reads them", "the night guard reads them"),
    ],
)
def test_what_is_set_aside_is_a_flag(statement: str, flag: str) -> None:
    [line] = lines(statement)
    assert (line.status, line.flag) == ("mapped", f"not read: {flag}")


@pytest.mark.parametrize(
    "statement",
    [
        "Nobody requires that we archive invoices on Sundays at 3am",
        "We would be grateful if nobody archived invoices on Sundays at 3am",
        "Should the invoices be archived on Sundays at 3am?",
        "Fetch refunds daily at 5:10, because legal wants to stop at 10",
        "Fetch refunds daily at 5:10, so not on Sundays",
        "Fetch refunds daily at 5:10, after the stores close",
        "| refunds | fetch | daily 5:10 | deprecated |",
        "| refunds | fetch | daily 5:10 | EU only |",
        "To validate refunds, fetch them daily at 5:10 or 6:10",
        "每天6点拉取汇率，这样只在周五",
        "订单、退款和发票要跟汇率归档，每天6点",
        "Validate the refunds before the migration",
    ],
)
def test_what_may_bound_the_task_is_a_question(statement: str) -> None:
    assert read(statement).startswith("?")


@pytest.mark.parametrize(
    "text",
    [
        "Load prices at 7 am every day; prices must only be loaded at 7 pm.",
        "Load prices at 7 am every day. Prices need to be loaded before the shops open.",
        "每天8点校验库存。库存只能在每天20点校验",
        "每天8点校验库存。库存不校验",
    ],
)
def test_a_sentence_that_takes_the_task_back_contradicts_it(text: str) -> None:
    assert [line.status for line in lines(text)] == ["rejected", "rejected"]
    assert lines(text)[0].reason == "contradiction"


def test_a_sentence_about_the_data_does_not() -> None:
    assert lines("Load prices at 7 am every day. The prices are important to us.")[0].status == "mapped"


def test_thanks_are_no_statement() -> None:
    assert [line.quote for line in lines("Check refunds daily at 5:10. Thanks, Petra")] == ["Check refunds daily at 5:10"]
    assert [line.quote for line in lines("每天6点拉取汇率。非常感谢！")] == ["每天6点拉取汇率"]


def test_initials_end_no_sentence() -> None:
    assert len(lines("| refunds | fetch | daily 5:10 | owner: J. Meyer |")) == 1
