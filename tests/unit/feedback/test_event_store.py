"""The event store, on SQLite and on a real Postgres: early, late, repeated and unordered facts, cursors, erasure."""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kickwheel.errors import InputError, RateLimited, ServiceUnavailable, StoreFailed
from kickwheel.feedback.ports import Submission
from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.feedback.writer_adapter import GroupCommitWriter
from kickwheel.spellings import case_key, placed
from schemas.events import AbandonEvent, DwellEvent, Event, InferenceRecord, OutcomeEvent, ThumbsEvent
from schemas.frame import Frame

AT = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
TEXT = "把昨天的订单同步到２号仓🚚"


def record(name: str, text: str = TEXT, at: datetime = AT, **given: str) -> InferenceRecord:
    return InferenceRecord(
        inference_id=name, text=text, frame=Frame(intent="sync_orders"), model_version="m-1", at=at, **{"user": "u1", **given}
    )


def dwell(name: str, about: str | None = "i1", seconds: float = 9.0, **given: object) -> DwellEvent:
    return DwellEvent.model_validate({"event_id": name, "inference_id": about, "seconds": seconds, "at": AT, **given})


def add(store: SqlEventStore, *facts: InferenceRecord | Event) -> None:
    records = tuple(item for item in facts if isinstance(item, InferenceRecord))
    store.add([Submission(records, tuple(item for item in facts if not isinstance(item, InferenceRecord)))])


def test_early_event_waits_for_its_inference_and_joins_it(store: SqlEventStore) -> None:
    """tensorzero/tensorzero 1680: feedback may come before its inference is known."""
    add(store, dwell("e1"))
    assert store.exchanges(inference_ids=["i1"]) == []
    assert store.status().waiting == 1
    add(store, record("i1"))
    (exchange,) = store.exchanges(inference_ids=["i1"])
    assert [kept.event.event_id for kept in exchange.events] == ["e1"]
    assert store.status().waiting == 0


def test_same_event_counts_once_and_other_content_is_told(store: SqlEventStore) -> None:
    first = store.add([Submission(events=(dwell("e1"), dwell("e1"), dwell("e2")))])[0]
    assert (first.added, first.duplicates, first.differing) == (2, 1, ())
    again, other = store.add([Submission(events=(dwell("e1"),)), Submission(events=(dwell("e2", seconds=1.0), dwell("e3")))])
    assert (again.added, again.duplicates) == (0, 1)
    assert (other.added, other.duplicates, other.differing) == (1, 1, ("e2",))
    add(store, record("i1"), record("i1", text="another text"))
    (exchange,) = store.exchanges()
    assert exchange.record.text == TEXT
    assert {kept.event.event_id: kept.event.seconds for kept in exchange.events if isinstance(kept.event, DwellEvent)} == {
        "e1": 9.0,
        "e2": 9.0,
        "e3": 9.0,
    }


def test_both_levels_are_kept(store: SqlEventStore) -> None:
    """tensorzero/tensorzero 1662: what is said about a session does not vanish in its answers."""
    outcome = OutcomeEvent(event_id="e1", session="s1", completed=True, turns=3, at=AT)
    add(store, record("i1", session="s1"), outcome, dwell("e2"), AbandonEvent(event_id="e3", session="s2", at=AT))
    assert [kept.event.event_id for kept in store.session_events(["s1"])] == ["e1"]
    (exchange,) = store.exchanges(sessions=["s1"])
    assert [kept.event.event_id for kept in exchange.events] == ["e2"]
    status = store.status()
    assert (status.session_level, status.events, status.by_kind) == (2, 3, {"abandon": 1, "dwell": 1, "outcome": 1})


def test_state_at_a_cursor_does_not_change_any_more(store: SqlEventStore) -> None:
    add(store, record("i1"), dwell("e1"))
    until = store.sequence()
    add(store, dwell("e2"), record("i2", text="other"), dwell("e3", "i2"))
    (exchange,) = store.exchanges(until=until)
    assert [kept.event.event_id for kept in exchange.events] == ["e1"]
    assert [item.case for item in store.exchanges()] == [case_key(TEXT), case_key("other")]


def test_export_holds_everything_and_can_be_imported(store: SqlEventStore, tmp_path: Path) -> None:
    add(store, dwell("e1", user="用户-1"), record("i1"), ThumbsEvent(event_id="e2", inference_id="i1", up=False, at=AT))
    other = SqlEventStore(f"sqlite:///{tmp_path / 'other.sqlite3'}")
    add(other, *store.everything())
    assert {str(item) for item in list(other.everything())} == {str(item) for item in list(store.everything())}
    assert other.identity() != store.identity()
    other.close()


def test_erasure_takes_a_user_s_answers_and_what_was_said_about_them(store: SqlEventStore) -> None:
    add(
        store, record("i1", session="s1"), record("i2", user="u2", session="s2"), dwell("e1", user="u1"), dwell("e2", user="op")
    )
    add(
        store, dwell("e3", "i2", user="u2"), dwell("e4", "unknown", user="u1"), AbandonEvent(event_id="e5", session="s1", at=AT)
    )
    would = store.erase("u1", dry_run=True)
    assert (would.inferences, would.events, store.status().events) == (1, 4, 5)
    done = store.erase("u1")
    assert (done.inferences, done.events) == (1, 4)
    assert [item.event_id for item in store.everything() if not isinstance(item, InferenceRecord)] == ["e3"]
    assert store.erase("u1").events == 0


def test_erased_bytes_are_gone_from_the_file(tmp_path: Path) -> None:
    store = SqlEventStore(f"sqlite:///{tmp_path / 'feedback.sqlite3'}")
    add(store, record("i1", text="the parcel of Ms Unforgettable"), record("i2", user="u2", text="kept"))
    store.erase("u1")
    store.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Unforgettable" not in content
    assert b"kept" in content


def test_retention_takes_the_old_and_what_waited_in_vain(store: SqlEventStore) -> None:
    old = AT - timedelta(days=100)
    add(store, record("i1", at=old), dwell("e1"), record("i2"), dwell("e2", "i2"))
    add(store, dwell("e3", "never", received_at=old), dwell("e4", "maybe", received_at=AT))
    assert store.prune(AT - timedelta(days=90)).events == 2
    assert sorted(item.event_id for item in store.everything() if not isinstance(item, InferenceRecord)) == ["e2", "e4"]


def test_tables_of_another_version_are_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'feedback.sqlite3'}"
    SqlEventStore(url).close()
    with sqlite3.connect(tmp_path / "feedback.sqlite3") as connection:
        connection.execute("UPDATE feedback_meta SET value = 99 WHERE name = 'schema_version'")
    connection.close()
    with pytest.raises(StoreFailed, match="version 99"):
        SqlEventStore(url)


def test_addresses_that_do_not_hold() -> None:
    with pytest.raises(InputError, match=r"feedback\.url"):
        SqlEventStore("not an address")
    with pytest.raises(ServiceUnavailable) as refused:
        SqlEventStore("postgresql://somebody:secret@127.0.0.1:1/none")
    assert "secret" not in str(refused.value)


def test_writers_at_the_same_time_lose_and_double_nothing(store_url: str) -> None:
    """Several processes write to one store: here threads with stores of their own, ids overlapping."""
    stores = [SqlEventStore(store_url) for _ in range(4)]
    added: list[int] = []

    def work(own: SqlEventStore, first: int) -> None:
        for start in range(first, first + 60, 10):
            added.append(
                own.add([Submission(events=tuple(dwell(f"e{number}") for number in range(start, start + 10)))])[0].added
            )

    threads = [threading.Thread(target=work, args=(own, 30 * place)) for place, own in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(added) == stores[0].status().events == 150
    for own in stores:
        own.close()


def test_writer_groups_what_waits_and_gives_each_caller_its_own_receipt(tmp_path: Path) -> None:
    store = SqlEventStore(f"sqlite:///{tmp_path / 'feedback.sqlite3'}")
    with GroupCommitWriter(store) as writer:
        receipts = [writer.submit(events=[dwell(f"e{number % 30}")]) for number in range(40)]
        received = [receipt.result(30) for receipt in receipts]
    assert sum(item.added for item in received) == 30
    assert sum(item.duplicates for item in received) == 10
    with pytest.raises(ServiceUnavailable):
        writer.submit(events=[dwell("late")])
    store.close()


def test_writer_tells_callers_of_a_store_that_fails_and_of_too_much(tmp_path: Path) -> None:
    gate = threading.Event()

    class Slow(SqlEventStore):
        def add(self, submissions: object) -> list[object]:  # type: ignore[override]
            gate.wait(30)
            raise ServiceUnavailable("locked")

    store = Slow(f"sqlite:///{tmp_path / 'feedback.sqlite3'}")
    with GroupCommitWriter(store, max_waiting=3) as writer:
        first = writer.submit(events=[dwell("e1"), dwell("e2")])
        second = writer.submit(events=[dwell("e3")])
        with pytest.raises(RateLimited):
            writer.submit(events=[dwell("e4")])
        gate.set()
        for receipt in (first, second):
            with pytest.raises(ServiceUnavailable):
                receipt.result(30)
    store.close()


def test_texts_that_say_the_same_are_one_case() -> None:
    assert case_key("同步 订单。") == case_key("同步　订单") != case_key("同步订单2")
    assert case_key("Sync Orders!") == case_key(" sync  orders")
    assert case_key("？") != case_key("！！")
    frame = Frame.from_values("Sync EMEA orders", "sync_orders", {"region": "EMEA"})
    moved = placed(frame, "Sync EMEA orders", "  sync  EMEA orders!")
    assert moved is not None
    assert (moved.slots[0].start, moved.slots[0].value) == (8, "EMEA")
    folded = placed(frame, "Sync EMEA orders", "sync emea orders")
    assert folded is not None
    assert folded.values == {"region": "emea"}
    assert placed(frame, "Sync APAC orders", "sync apac orders") is None  # what was edited in does not stand in the text
    assert placed(frame, "Sync EMEA orders", "sync EMEA") is None  # another request
    quoted = Frame.from_values('sync "EMEA" now', "sync_orders", {"region": '"EMEA"'})
    assert placed(quoted, 'sync "EMEA" now', 'Sync "EMEA"  now!') == quoted.model_copy()
    shifted = frame.model_copy(update={"slots": (frame.slots[0].model_copy(update={"start": 0, "end": 4}),)})
    assert placed(shifted, "Sync EMEA orders", "Sync EMEA orders") == frame


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(8)), repeats=st.lists(st.integers(0, 7), max_size=3))
def test_any_order_and_repetition_of_the_same_facts_is_the_same_state(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], repeats: list[int]
) -> None:
    facts: list[InferenceRecord | Event] = [record("i1"), record("i2", text="other"), dwell("e3", "i2")]
    facts += [dwell("e1"), dwell("e2"), dwell("e4", "unknown"), AbandonEvent(event_id="e5", session="s1", at=AT)]
    facts.append(ThumbsEvent(event_id="e6", inference_id="i1", up=True, at=AT))
    store = SqlEventStore(f"sqlite:///{tmp_path_factory.mktemp('order') / 'feedback.sqlite3'}")
    for place in [*order, *repeats]:
        add(store, facts[place])
    joined = {
        exchange.record.inference_id: sorted(kept.event.event_id for kept in exchange.events) for exchange in store.exchanges()
    }
    assert joined == {"i1": ["e1", "e2", "e6"], "i2": ["e3"]}
    assert store.status().events == 6
    store.close()
