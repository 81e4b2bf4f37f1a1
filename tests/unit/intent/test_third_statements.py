"""The third set of checked statements: its frozen half was committed before its author had read a line of the rules.

Development statements are of the kinds of wording that the frozen half's first run taught, in words of their own.
"""

from __future__ import annotations

import hashlib

from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.rules import RulesRecogniser
from tests.unit.intent.test_second_statements import STATEMENTS, is_right, rows_of, verdict_of

FROZEN = "e2dcbe1dc7d093c60717a4d15c7de84db691c52d3e93730a3c9d564e7c5a5614"


def wrong(name: str) -> tuple[list[str], list[str]]:
    """Statements that were accepted wrongly, and refused ones that could be mapped."""
    recogniser = RulesRecogniser(load_glossary(STATEMENTS / "glossary3.yaml"))
    accepted: list[str] = []
    refused: list[str] = []
    for statement, rows in rows_of(name).items():
        verdict = verdict_of(rows, recogniser)
        if not is_right(rows, verdict):
            (accepted if any(line.status == "mapped" for line in verdict.got) else refused).append(statement)
    return accepted, refused


def test_the_third_frozen_set_is_the_one_that_was_written_before_its_author_read_the_rules() -> None:
    assert hashlib.sha256((STATEMENTS / "frozen3.jsonl").read_bytes()).hexdigest() == FROZEN


def test_halves_share_no_statement() -> None:
    assert not rows_of("development3").keys() & rows_of("frozen3").keys()


def test_development_statements_become_their_tasks() -> None:
    assert wrong("development3") == ([], [])


def test_nothing_of_the_third_frozen_set_is_accepted_wrongly() -> None:
    """Counts only: a failure must not show what stands in the frozen half."""
    accepted, refused = wrong("frozen3")
    assert len(accepted) == 0
    assert len(refused) <= 3
