"""A wrong password is the configuration's fault, a database that is down is an outage: on a real Postgres."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kickwheel.database_refusal import is_refusal
from kickwheel.errors import InputError, ServiceUnavailable, TaskRefused, is_transient
from kickwheel.execution.placeholders import placeholders_of
from kickwheel.execution.places import Place
from kickwheel.execution.table_adapter import Table
from kickwheel.feedback.store_adapter import SqlEventStore

Spoil = Callable[[str], str]

WRONG: dict[str, Spoil] = {
    "password": lambda url: url.replace(":right@", ":s3cret@"),
    "no password": lambda url: url.replace(":right@", "@"),
    "user": lambda url: url.replace("reader:right@", "somebody:s3cret@"),
    "database": lambda url: url.replace("/postgres", "/nowhere"),
}


def read(url: str) -> None:
    place = Place(url="${DB}", table="orders")
    with Table.open(place, placeholders_of("${DB}", {"DB": url.replace("postgresql:", "postgresql+psycopg:")}, {})) as table:
        table.count()


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_an_address_is_not_tried_again(locked_postgres: str, wrong: Spoil) -> None:
    with pytest.raises(TaskRefused) as refused:
        read(wrong(locked_postgres))
    with pytest.raises(InputError, match=r"feedback\.url") as told:
        SqlEventStore(wrong(locked_postgres))
    for error in (refused.value, told.value):
        assert not is_transient(error)
        assert "s3cret" not in str(error)


def test_a_database_that_is_down_is_tried_again(locked_postgres: str) -> None:
    away = locked_postgres.replace(locked_postgres.rpartition(":")[2], "1/postgres")
    with pytest.raises(ServiceUnavailable):
        read(away)
    with pytest.raises(ServiceUnavailable):
        SqlEventStore(away)


@pytest.mark.parametrize(
    ("state", "text", "refused"),
    [("28P01", "", True), ("3D000", "", True), ("53300", 'FATAL:  role "x" does not exist', False), ("", "FATAL:  x", False)],
)
def test_a_state_decides_where_the_driver_has_one(state: str, text: str, refused: bool) -> None:
    error = RuntimeError(text)
    error.sqlstate = state  # type: ignore[attr-defined]
    assert is_refusal(error) is refused
