"""The event store on SQLAlchemy: SQLite by default, Postgres by its address."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from kickwheel.database_refusal import is_refusal
from kickwheel.errors import InputError, ServiceUnavailable, StoreFailed
from kickwheel.feedback.ports import Exchange, Kept, Submission
from kickwheel.feedback.tables import SCHEMA_VERSION, make_engine, tables
from kickwheel.spellings import case_key
from schemas.events import Erased, Event, InferenceRecord, Received, StoreStatus

if TYPE_CHECKING:
    import sqlalchemy as sa

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHUNK = 500
"""Ids of one IN list: far below what any database takes."""


def microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


class SqlEventStore:
    """An :class:`~kickwheel.feedback.ports.EventStore`. Makes its tables when it is opened."""

    def __init__(self, url: str):
        """
        Args:
            url: SQLAlchemy's form, e.g. ``sqlite:///feedback.sqlite3`` or ``postgresql://user:password@host/database``.

        Raises:
            InputError: not an address, its driver is not installed, or user, password or database are wrong.
            ServiceUnavailable: the database can't be reached.
            StoreFailed: the tables are of another version of Kickwheel.
        """
        import sqlalchemy as sa

        try:
            self._engine = make_engine(url)
        except (sa.exc.ArgumentError, ModuleNotFoundError) as error:
            what = error if isinstance(error, ModuleNotFoundError) else "not an address of a database"
            raise InputError(f"{what} (Postgres needs: pip install 'kickwheel[postgres]')", field="feedback.url") from None
        self.address = self._engine.url.render_as_string(hide_password=True)
        if self._engine.dialect.name == "sqlite" and self._engine.url.database:
            Path(self._engine.url.database).parent.mkdir(parents=True, exist_ok=True)
        self._tables = tables()
        self._opened = False
        self._prepare()
        self._opened = True

    def add(self, submissions: Sequence[Submission]) -> list[Received]:
        """See the port. Events without ``received_at`` get the present time."""
        now = datetime.now(UTC)
        with self._begin(writes=True) as connection:
            number = self._advance(connection, sum(len(item) for item in submissions))
            number = self._add_inferences(connection, [row for item in submissions for row in item.inferences], number)
            return self._add_events(connection, submissions, number, now)

    def sequence(self) -> int:
        """See the port."""
        with self._begin() as connection:
            return self._meta(connection, "sequence")

    def identity(self) -> int:
        """See the port."""
        with self._begin() as connection:
            return self._meta(connection, "identity")

    def exchanges(
        self,
        *,
        cases: Sequence[str] | None = None,
        inference_ids: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        until: int | None = None,
    ) -> list[Exchange]:
        """See the port."""
        inferences, events = self._tables.inferences.c, self._tables.events.c
        given = [(inferences.case_key, cases), (inferences.inference_id, inference_ids), (inferences.session, sessions)]
        wanted = [(column, values) for column, values in given if values is not None]
        found: dict[str, Any] = {}
        by_inference: dict[str, list[Kept]] = {}
        with self._begin() as connection:
            for row in self._rows(connection, self._tables.inferences, wanted, until):
                found[row.inference_id] = row
            about = [(events.inference_id, list(found))] if wanted else []
            for row in self._rows(connection, self._tables.events, about, until):
                if row.inference_id in found:
                    kept = Kept(EVENT.validate_json(row.body), row.sequence)
                    by_inference.setdefault(row.inference_id, []).append(kept)
        return [
            Exchange(
                InferenceRecord.model_validate_json(row.body), row.case_key, row.sequence, tuple(by_inference.get(name, ()))
            )
            for name, row in sorted(found.items(), key=lambda item: item[1].sequence)
        ]

    def session_events(self, sessions: Sequence[str]) -> list[Kept]:
        """See the port."""
        if not sessions:
            return []
        columns = self._tables.events.c
        with self._begin() as connection:
            rows = self._rows(connection, self._tables.events, [(columns.session, sessions)], None)
        return [Kept(EVENT.validate_json(row.body), row.sequence) for row in rows if row.inference_id is None]

    def status(self) -> StoreStatus:
        """See the port."""
        import sqlalchemy as sa

        inferences, events = self._tables.inferences.c, self._tables.events.c
        count = sa.func.count()
        users = sa.union(sa.select(inferences.user_id), sa.select(events.user_id)).subquery()
        known = sa.select(inferences.inference_id).where(inferences.inference_id == events.inference_id).exists()
        with self._begin() as connection:
            kinds = connection.execute(sa.select(events.kind, count).group_by(events.kind))
            by_kind = {row[0]: int(row[1]) for row in kinds}
            span = connection.execute(sa.select(sa.func.min(events.received_us), sa.func.max(events.received_us))).one()
            oldest, newest = (None if value is None else EPOCH + timedelta(microseconds=value) for value in span)
            waiting = sa.select(count).select_from(self._tables.events).where(events.inference_id.is_not(None), ~known)
            whole = sa.select(count).select_from(self._tables.events).where(events.inference_id.is_(None))
            return StoreStatus(
                store=self.address,
                inferences=connection.scalar(sa.select(count).select_from(self._tables.inferences)) or 0,
                events=sum(by_kind.values()),
                by_kind=dict(sorted(by_kind.items())),
                waiting=connection.scalar(waiting) or 0,
                session_level=connection.scalar(whole) or 0,
                users=connection.scalar(sa.select(sa.func.count(users.c.user_id))) or 0,
                sequence=self._meta(connection, "sequence"),
                oldest=oldest,
                newest=newest,
            )

    def everything(self) -> Iterator[InferenceRecord | Event]:
        """See the port. One transaction: what is added meanwhile is not in it."""
        import sqlalchemy as sa

        kinds = ((0, self._tables.inferences), (1, self._tables.events))
        parts = [sa.select(table.c.sequence, sa.literal(kind).label("kind"), table.c.body) for kind, table in kinds]
        both = sa.union_all(*parts).subquery()
        with self._begin() as connection:
            query = sa.select(both).order_by(both.c.sequence)
            for row in connection.execution_options(yield_per=1000).execute(query):
                yield EVENT.validate_json(row.body) if row.kind else InferenceRecord.model_validate_json(row.body)

    def erase(self, user: str, *, dry_run: bool = False) -> Erased:
        """See the port. SQLite overwrites what it deletes, and the write-ahead log is emptied."""
        import sqlalchemy as sa

        inferences, events = self._tables.inferences.c, self._tables.events.c
        own = inferences.user_id == user
        about = events.inference_id.in_(sa.select(inferences.inference_id).where(own))
        whole = events.inference_id.is_(None) & events.session.in_(sa.select(inferences.session).where(own))
        return self._remove(own, (events.user_id == user) | about | whole, dry_run)

    def prune(self, before: datetime, *, dry_run: bool = False) -> Erased:
        """See the port."""
        import sqlalchemy as sa

        inferences, events = self._tables.inferences.c, self._tables.events.c
        old = inferences.at_us < microseconds(before)
        about = events.inference_id.in_(sa.select(inferences.inference_id).where(old))
        known = sa.select(inferences.inference_id).where(inferences.inference_id == events.inference_id).exists()
        return self._remove(old, about | ((events.received_us < microseconds(before)) & ~known), dry_run)

    def close(self) -> None:
        """See the port."""
        self._engine.dispose()

    def _prepare(self) -> None:
        import sqlalchemy as sa

        meta = self._tables.meta
        with self._begin(writes=True) as connection:
            if self._engine.dialect.name == "postgresql":  # two processes that make the tables at once
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7202617)"))
            meta.metadata.create_all(connection)
            version = connection.scalar(sa.select(meta.c.value).where(meta.c.name == "schema_version"))
            if version is None:
                first = {"schema_version": SCHEMA_VERSION, "sequence": 0, "identity": secrets.randbits(62)}
                connection.execute(sa.insert(meta), [{"name": name, "value": value} for name, value in first.items()])
            elif version != SCHEMA_VERSION:
                raise StoreFailed(
                    f"{self.address}: its tables are of version {version}, this Kickwheel works with {SCHEMA_VERSION}: "
                    "export them with the one that made them and import into a new store"
                )

    def _advance(self, connection: sa.Connection, by: int) -> int:
        """Take ``by`` numbers; returns the last one before them. Whoever comes next waits until this transaction ends."""
        import sqlalchemy as sa

        meta = self._tables.meta
        raised = sa.update(meta).where(meta.c.name == "sequence").values(value=meta.c.value + by)
        return int(connection.execute(raised.returning(meta.c.value)).scalar_one()) - by

    def _meta(self, connection: sa.Connection, name: str) -> int:
        import sqlalchemy as sa

        meta = self._tables.meta.c
        return int(connection.scalar(sa.select(meta.value).where(meta.name == name)) or 0)

    def _add_inferences(self, connection: sa.Connection, records: Sequence[InferenceRecord], number: int) -> int:
        import sqlalchemy as sa

        table = self._tables.inferences
        unique = {record.inference_id: record for record in reversed(records)}
        there = {row.inference_id for row in self._rows(connection, table, [(table.c.inference_id, list(unique))], None)}
        rows = [
            {
                "inference_id": record.inference_id,
                "sequence": number + place,
                "session": record.session,
                "user_id": record.user,
                "case_key": case_key(record.text),
                "at_us": microseconds(record.at),
                "body": record.model_dump_json(),
            }
            for place, record in enumerate(reversed(unique.values()), start=1)
            if record.inference_id not in there
        ]
        if rows:
            connection.execute(sa.insert(table), rows)
        return number + len(unique)

    def _add_events(
        self, connection: sa.Connection, submissions: Sequence[Submission], number: int, now: datetime
    ) -> list[Received]:
        import sqlalchemy as sa

        table = self._tables.events
        ids = list(dict.fromkeys(event.event_id for item in submissions for event in item.events))
        there = {row.event_id: row.body for row in self._rows(connection, table, [(table.c.event_id, ids)], None)}
        rows, receipts = [], []
        for item in submissions:
            added, differing = 0, []
            for event in item.events:
                kept = event if event.received_at else event.model_copy(update={"received_at": now})
                body = kept.model_dump_json()
                if event.event_id in there:
                    if _content(there[event.event_id]) != _content(body):
                        differing.append(event.event_id)
                    continue
                number, added = number + 1, added + 1
                there[event.event_id] = body
                rows.append(
                    {
                        "event_id": event.event_id,
                        "sequence": number,
                        "kind": event.kind,
                        "inference_id": event.inference_id,
                        "session": event.session,
                        "user_id": event.user,
                        "received_us": microseconds(kept.received_at or now),
                        "body": body,
                    }
                )
            duplicates = len(item.events) - added
            receipts.append(Received(added=added, duplicates=duplicates, differing=tuple(differing)))
        if rows:
            connection.execute(sa.insert(table), rows)
        return receipts

    def _rows(
        self, connection: sa.Connection, table: sa.Table, wanted: Sequence[tuple[Any, Sequence[str]]], until: int | None
    ) -> list[Any]:
        """Rows that match any of the lists (all, without lists) and are not newer than ``until``."""
        import sqlalchemy as sa

        queries = [sa.select(table)] if not wanted else []
        for column, values in wanted:
            chunks = [values[start : start + CHUNK] for start in range(0, len(values), CHUNK)]
            queries += [sa.select(table).where(column.in_(chunk)) for chunk in chunks]
        if until is not None:
            queries = [query.where(table.c.sequence <= until) for query in queries]
        return [row for query in queries for row in connection.execute(query)]

    def _remove(self, inferences: Any, events: Any, dry_run: bool) -> Erased:
        import sqlalchemy as sa

        with self._begin(writes=True) as connection:
            counts = []
            # Events first: which they are is asked of the inferences.
            for table, which in ((self._tables.events, events), (self._tables.inferences, inferences)):
                counts.append(connection.scalar(sa.select(sa.func.count()).select_from(table).where(which)) or 0)
                if not dry_run:
                    connection.execute(sa.delete(table).where(which))
        if not dry_run and self._engine.dialect.name == "sqlite":
            with self._engine.connect() as connection:
                connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]
        return Erased(dry_run=dry_run, inferences=counts[1], events=counts[0])

    @contextmanager
    def _begin(self, *, writes: bool = False) -> Iterator[sa.Connection]:
        import sqlalchemy as sa

        try:
            with self._engine.connect() as connection:
                connection = connection.execution_options(kickwheel_writes=writes)
                with connection.begin():
                    yield connection
        except sa.exc.DBAPIError as error:
            if not self._opened and is_refusal(error.orig):  # later it may be a password that is being changed
                raise InputError(f"{self.address}: {error.orig}", field="feedback.url") from None
            kind = ServiceUnavailable if isinstance(error, sa.exc.OperationalError) else StoreFailed
            raise kind(f"{self.address}: {error.orig}") from None


def _content(body: str) -> Event:
    """The event without the time at which it came."""
    return EVENT.validate_json(body).model_copy(update={"received_at": None})
