"""Tables of an event store, and what is asked of SQLite and Postgres each.

Rows hold a contract's JSON whole, beside the columns that are searched. Both kinds of rows are numbered from one counter: it is
raised first in a transaction, so its row lock (Postgres) or the write lock (SQLite) makes numbers visible in their order, and a
cursor never passes a number that is yet to come.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import sqlalchemy as sa

SCHEMA_VERSION = 1
BUSY_MS = 20_000
"""How long a SQLite connection waits for another's lock."""


class Tables(NamedTuple):
    """The three tables."""

    meta: sa.Table
    inferences: sa.Table
    events: sa.Table


@lru_cache(maxsize=1)
def tables() -> Tables:
    """The tables, made once: SQLAlchemy is imported where a store is opened, not before."""
    import sqlalchemy as sa

    data = sa.MetaData()
    meta = sa.Table(
        "feedback_meta",
        data,
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    inferences = sa.Table(
        "feedback_inferences",
        data,
        sa.Column("inference_id", sa.Text, primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False, index=True),
        sa.Column("session", sa.Text, index=True),
        sa.Column("user_id", sa.Text, index=True),
        sa.Column("case_key", sa.String(32), nullable=False, index=True),
        sa.Column("at_us", sa.BigInteger, nullable=False, index=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    events = sa.Table(
        "feedback_events",
        data,
        sa.Column("event_id", sa.Text, primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False, index=True),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("inference_id", sa.Text, index=True),
        sa.Column("session", sa.Text, index=True),
        sa.Column("user_id", sa.Text, index=True),
        sa.Column("received_us", sa.BigInteger, nullable=False, index=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    return Tables(meta, inferences, events)


def make_engine(url: str) -> sa.Engine:
    """An engine for a store. SQLite: write-ahead log, every commit waits for the disk (``synchronous=FULL``).

    Raises:
        ArgumentError, ModuleNotFoundError: not an address, or its driver is not installed.
    """
    import sqlalchemy as sa

    address = sa.make_url(url)
    if address.drivername in ("postgres", "postgresql"):
        address = address.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, hide_parameters=True, pool_pre_ping=address.get_backend_name() != "sqlite")
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we begin ourselves: sqlite3 would only do so before the first INSERT
    for pragma in (f"busy_timeout={BUSY_MS}", "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    """Writers take the write lock at once: one that first reads and then writes could be refused without waiting."""
    writes = connection.get_execution_options().get("kickwheel_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
