"""The fourth set of checked statements: six other trades, committed before the rules had seen it.

Its author had written rules before, but had none of them before the eyes. What its first run taught is in the rules since.
"""

from __future__ import annotations

import hashlib

import pytest

from kickwheel.intent.expectations import Expectation
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.rules import RulesRecogniser
from tests.unit.intent.test_second_statements import STATEMENTS, is_right, rows_of, verdict_of

FROZEN = "15c1bc0e49af1a45fe153b12b42651bc9629ad4c440fc7a399d1217e8ab7643f"


def rows_for(statement: str) -> list[Expectation]:
    return [Expectation(statement=statement, status="rejected")]


@pytest.fixture(scope="module")
def recogniser() -> RulesRecogniser:
    return RulesRecogniser(load_glossary(STATEMENTS / "glossary4.yaml"))


def test_the_fourth_frozen_set_is_the_one_that_was_committed_before_the_rules_saw_it() -> None:
    assert hashlib.sha256((STATEMENTS / "frozen4.jsonl").read_bytes()).hexdigest() == FROZEN


def test_nothing_of_the_fourth_frozen_set_gets_a_wrong_schedule(recogniser: RulesRecogniser) -> None:
    """Counts only: a failure must not show what stands in the frozen set."""
    verdicts = [(rows, verdict_of(rows, recogniser)) for rows in rows_of("frozen4").values()]
    wrong = [verdict for rows, verdict in verdicts if not is_right(rows, verdict)]
    accepted = [verdict.missed for verdict in wrong if any(line.status == "mapped" for line in verdict.got)]
    assert sum(missed != ("target",) for missed in accepted) == 0
    assert len(wrong) <= 1


@pytest.mark.parametrize(
    ("statement", "crons"),
    [
        ("Archive loans at 2:00 on Sundays, then validate them at 4:30", ["0 2 * * 0", "30 4 * * 0"]),
        ("每周一7点拉取合同，然后8点校验合同", ["0 7 * * 1", "0 8 * * 1"]),
        ("Fetch loans on 3 March and 3 September at 6:00 every year", ["0 6 3 3,9 *"]),
        ("每天 5 点 20 分 拉取 快件", ["20 5 * * *"]),
        ("（十二）每天4点将成绩加载到数据湖", ["0 4 * * *"]),
        ("财务处要求每天4点归档合同", ["0 4 * * *"]),
        ("成绩每天3点落数仓", ["0 3 * * *"]),
        ("成绩每天3点写入数仓一次", ["0 3 * * *"]),
        ("Plaese fetch loans daily at 4:00", ["0 4 * * *"]),
    ],
)
def test_what_the_first_run_taught(recogniser: RulesRecogniser, statement: str, crons: list[str]) -> None:
    verdict = verdict_of(rows_for(statement), recogniser)
    assert [line.cron for line in verdict.got] == crons


@pytest.mark.parametrize(
    "statement",
    [
        "Fetch loans at 6:00, then validate them at 7:00",  # on which days?
        "Fetch loans at 6:00 daily, then validate them on Mondays",  # at which time?
        "Fetch loans soon",
        "Fetch loans on 3 March and 4 September",
        "收入每天3点",
        "成绩每天3点落库",
    ],
)
def test_what_it_did_not_teach(recogniser: RulesRecogniser, statement: str) -> None:
    assert all(line.status == "rejected" for line in verdict_of(rows_for(statement), recogniser).got)
