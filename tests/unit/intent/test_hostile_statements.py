"""Statements that a reviewer wrote to be read wrongly: contradictions, bounds, times that are not the task's."""

from __future__ import annotations

from pathlib import Path

from kickwheel.intent.expectations import Expectation, check_expectations
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.rules import RulesRecogniser
from kickwheel.workspace import read_jsonl

STATEMENTS = Path(__file__).parent / "statements"


def test_nothing_hostile_is_read_wrongly_and_most_of_it_is_read() -> None:
    rows = read_jsonl(STATEMENTS / "hostile.jsonl", Expectation)
    verdicts = check_expectations(rows, domain="checked", zone="UTC", recogniser=RulesRecogniser(load_glossary(None)))
    assert [verdict.statement for verdict in verdicts if verdict.wrongly_accepted] == []
    assert sum(bool(verdict.missed) for verdict in verdicts) <= 0.1 * len(verdicts)
