"""Cron expressions: strict in, canonical out."""

from __future__ import annotations

import pytest

from kickwheel.intent.cron_text import CronRefused, read_cron, with_seconds_first, write_cron
from kickwheel.intent.recurrence import Monthly, NthDay, Recurrence


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("0 9 * * *", "0 9 * * *"),
        ("00 09 * * MON-FRI", "0 9 * * 1-5"),
        ("0 9 * * 5,3,1", "0 9 * * 1,3,5"),
        ("0 9 * * 7", "0 9 * * 0"),
        ("0 9 * * 5-7", "0 9 * * 0,5,6"),
        ("0,15,30,45 * * * *", "*/15 * * * *"),
        ("0-59/20 */1 * * *", "*/20 * * * *"),
        ("0 0-23/6 1 jan,apr,jul,oct *", "0 */6 1 1,4,7,10 *"),
        ("5 1,2,3,4,8 * 1-1 *", "5 1-4,8 * 1 *"),
        ("0 9 * 3 1", "0 9 * 3 1"),
        ("0 0 1-31 * *", "0 0 * * *"),
    ],
)
def test_equal_expressions_have_one_canonical_form(written: str, canonical: str) -> None:
    """'1-1' is one month; croniter expands it to every month."""
    assert write_cron(read_cron(written)) == canonical


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 0 9 * * *", "seconds come first or last"),
        ("0 0 9 * * * 2026", "7 fields"),
        ("9 * * *", "4 fields"),
        ("0 9 * * ?", "Quartz"),
        ("0 9 L * *", "no day of month"),
        ("0 9 * * 1#1", "no day of week"),
        ("5/15 * * * *", "no minute"),
        ("60 * * * *", "no minute from 0 to 59"),
        ("0 9 32 * *", "no day of month from 1 to 31"),
        ("0 9 * 13 *", "no month from 1 to 12"),
        ("0 17-9 * * *", "upwards"),
        ("*/0 * * * *", "steps are 1"),
        ("0 9 1-7 * 1", "both day of month and day of week"),
        ("@daily", "1 fields"),
        ("H 9 * * *", "no minute"),
    ],
)
def test_expression_that_schedulers_read_differently_is_refused(text: str, why: str) -> None:
    """Conventions, section 1: Prefect takes six fields with the seconds last, ORs the day fields, and takes '?'."""
    with pytest.raises(CronRefused, match=why):
        read_cron(text)


def test_seconds_first_form_is_taken_and_written_on_request() -> None:
    assert write_cron(read_cron("0 0 9 * * *", seconds_first=True)) == "0 9 * * *"
    assert with_seconds_first("0 9 * * *") == "0 0 9 * * *"
    with pytest.raises(CronRefused, match="seconds other than 0"):
        read_cron("30 0 9 * * *", seconds_first=True)


def test_what_cron_cannot_say_has_no_expression() -> None:
    assert write_cron(Recurrence(Monthly(frozenset({-1})), (540,))) is None
    assert write_cron(Recurrence(NthDay(1, frozenset({1})), (540,))) is None
    assert write_cron(Recurrence(Monthly(frozenset({1})), (390, 1080))) is None, "6:30 and 18:00 are no grid"


def test_last_day_of_equally_long_months_is_a_day_of_the_month() -> None:
    assert write_cron(Recurrence(Monthly(frozenset({-1}), frozenset({12})), (540,))) == "0 9 31 12 *"
    assert write_cron(Recurrence(Monthly(frozenset({-1}), frozenset({2})), (540,))) is None, "February's length changes"
