"""Intents that became better or worse, with Holm's correction."""

from __future__ import annotations

import pytest

from kickwheel.evaluation.intent_change import holm, intent_changes
from schemas.frame import Frame, Prediction
from schemas.utterance import Utterance

RIGHT, WRONG = Frame(intent="a"), Frame(intent="x")


def rows(intent: str, count: int) -> list[Utterance]:
    return [Utterance(id=f"{intent}-{n}", text="t", language="en", frame=Frame(intent=intent)) for n in range(count)]


def answers(intent: str, right: int, count: int) -> list[Prediction]:
    return [Prediction(frame=Frame(intent=intent) if n < right else WRONG) for n in range(count)]


def test_holm_by_hand() -> None:
    # Holm 1979: smallest times m, next times m - 1 …, never falling
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_fall_is_significant_only_if_it_is_more_than_chance_over_all_intents() -> None:
    gold = rows("a", 100) + rows("b", 100) + rows("c", 100)
    before = answers("a", 90, 100) + answers("b", 90, 100) + answers("c", 50, 100)
    after = answers("a", 70, 100) + answers("b", 86, 100) + answers("c", 80, 100)
    a, b, c = intent_changes(gold, before, after)
    assert (a.lost, a.won, a.significantly_worse) == (20, 0, True)
    assert (b.lost, b.significantly_worse) == (4, False)  # p = 0.0625 alone
    assert (c.before, c.after, c.significantly_worse) == (0.5, 0.8, False)
