"""Slips of the pen."""

from __future__ import annotations

import pytest

from kickwheel.intent.cron_text import write_cron
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.ports import Recognised, Refused
from kickwheel.intent.recurrence import Recurrence
from kickwheel.intent.rules import RulesRecogniser
from kickwheel.intent.spelling import respelled

GLOSSARY = load_glossary()


def read(text: str) -> str:
    return respelled(text, GLOSSARY.action_forms, GLOSSARY.own_words)[0]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("evry", "every"), ("dialy", "daily"), ("Mondy", "monday"), ("minuts", "minutes"), ("snyc", "sync"),
     ("valdiate", "validate"), ("eveery", "every"), ("没天", "每天"), ("周未", "周末"), ("效验", "校验")],
)  # fmt: skip
def test_one_letter_left_out_doubled_or_swapped_is_put_right(slip: str, meant: str) -> None:
    assert read(f"x {slip} y") == f"x {meant} y"


@pytest.mark.parametrize(
    "word", ["very", "ever", "dairy", "insects", "etched", "competed", "odrers", "lkae", "sunny", "weekly"]
)
def test_words_of_their_own_and_words_of_data_stay(word: str) -> None:
    """A letter that is another one makes another word: dairy is not daily."""
    assert read(f"x {word} y") == f"x {word} y"


def test_words_of_the_glossary_s_names_stay() -> None:
    assert respelled("sync mintues", ("sync",), frozenset({"mintues"})) == ("sync mintues", ())


def test_a_slip_is_told_in_a_note() -> None:
    [found] = RulesRecogniser(GLOSSARY).recognise("snyc orders evry day at 9:00")
    assert isinstance(found, Recognised)
    assert isinstance(found.time.when, Recurrence)
    assert write_cron(found.time.when) == "0 9 * * *"
    assert found.time.notes == ("'snyc' is read as 'sync'", "'evry' is read as 'every'")


def test_two_slips_in_a_word_are_no_slip() -> None:
    [found] = RulesRecogniser(GLOSSARY).recognise("sync orders evrryy day at 9:00")
    assert isinstance(found, Refused)
