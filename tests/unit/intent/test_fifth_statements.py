"""The fifth set of checked statements: airline, supermarket, insurer, telecom, by somebody who had not read the rules."""

from __future__ import annotations

import hashlib

import pytest

from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.rules import RulesRecogniser
from tests.unit.intent.test_second_statements import STATEMENTS, is_right, rows_of, verdict_of

FROZEN = "24e8c2d88687e8bd06a7798e18b7025ab47447a4061654bda87a484a3b4edfba"


@pytest.fixture(scope="module")
def recogniser() -> RulesRecogniser:
    return RulesRecogniser(load_glossary(STATEMENTS / "glossary5.yaml"))


def test_the_fifth_frozen_set_is_the_one_that_was_committed_before_the_rules_saw_it() -> None:
    assert hashlib.sha256((STATEMENTS / "frozen5.jsonl").read_bytes()).hexdigest() == FROZEN


def test_how_much_of_a_strangers_wording_is_read(recogniser: RulesRecogniser) -> None:
    """Counts only: a failure must not show what stands in the frozen set."""
    verdicts = [(rows, verdict_of(rows, recogniser)) for rows in rows_of("frozen5").values()]
    assert sum(is_right(rows, verdict) for rows, verdict in verdicts) >= 110
    # Both are read rightly, beside a second sentence that is refused as no task.
    assert sum(verdict.wrongly_accepted for _, verdict in verdicts) <= 2


@pytest.mark.parametrize(
    ("statement", "flag"),
    [
        ("REQ-7: Archive claims at 2:00 on Sundays, the auditors asked for it", "the auditors asked for it"),
        ("采购部申请：每天4点导出保单，审计处需要", "采购部申请; 审计处需要"),
    ],
)
def test_who_asked_and_why_is_flagged_not_read(recogniser: RulesRecogniser, statement: str, flag: str) -> None:
    [task] = recogniser.recognise(statement)
    assert getattr(task, "flag", None) == f"not read: {flag}"


@pytest.mark.parametrize(
    "statement",
    [
        "Deprecated: archive claims at 2:00 on Sundays",
        "Archive claims at 2:00 on Sundays, the auditors no longer need it",
        "Archive claims at 2:00 on Sundays, legal asked for the old ones only",
        "每天4点导出保单，需要审批",
        "每天4点导出保单，理赔组不需要",
    ],
)
def test_what_may_bound_the_task_is_never_set_aside(recogniser: RulesRecogniser, statement: str) -> None:
    assert not any(hasattr(found, "action") for found in recogniser.recognise(statement))
