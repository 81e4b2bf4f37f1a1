"""The routing on disk: whole, one writer at a time, nobody overwrites what they have not seen, changes are seen."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from filelock import FileLock

from kickwheel.errors import InputError, StaleRouting
from kickwheel.serving import routing_adapter
from kickwheel.serving.routing_adapter import RoutingWatch, read_routing, routing_path, write_routing
from schemas.serving import Routing, ServedVersion


def routing(revision: int, name: str = "one") -> Routing:
    return Routing(revision=revision, champion=ServedVersion(name=name, kind="probe"))


def test_what_is_written_is_read_and_each_write_is_a_revision_more(tmp_path: Path) -> None:
    path = routing_path(tmp_path, "dataops")
    assert read_routing(path) is None
    for revision in (1, 2, 3):
        write_routing(path, routing(revision))
        assert read_routing(path) == routing(revision)


@pytest.mark.parametrize("revision", [1, 2, 4])
def test_a_revision_that_does_not_follow_is_refused_and_nothing_is_written(tmp_path: Path, revision: int) -> None:
    path = tmp_path / "routing.json"
    write_routing(path, routing(1))
    write_routing(path, routing(2, "two"))
    with pytest.raises(StaleRouting, match="expected revision 3"):
        write_routing(path, routing(revision, "other"))
    assert read_routing(path) == routing(2, "two")


def test_of_writers_that_decided_on_the_same_state_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "routing.json"
    write_routing(path, routing(1))
    refused: list[str] = []
    ready = threading.Barrier(8)

    def decide(name: str) -> None:
        ready.wait()
        try:
            write_routing(path, routing(2, name))
        except StaleRouting:
            refused.append(name)

    writers = [threading.Thread(target=decide, args=(f"writer-{n}",)) for n in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(refused) == 7
    standing = read_routing(path)
    assert standing is not None
    assert standing.champion.name not in refused


def test_a_writer_does_not_wait_for_ever_for_one_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing_adapter, "LOCK_WITHIN_S", 0.05)
    with FileLock(tmp_path / "routing.lock"), pytest.raises(StaleRouting, match="lock"):
        write_routing(tmp_path / "routing.json", routing(1))
    write_routing(tmp_path / "routing.json", routing(1))


def test_a_file_that_does_not_hold_is_named_with_its_field(tmp_path: Path) -> None:
    path = tmp_path / "routing.json"
    path.write_text('{"revision": 1, "champion": {"name": "x", "kind": "none"}}')
    with pytest.raises(InputError, match=r"routing\.json: field 'champion\.kind'"):
        read_routing(path)
    with pytest.raises(InputError):
        write_routing(path, routing(2))


def test_a_watcher_tells_each_change_once(tmp_path: Path) -> None:
    path = tmp_path / "routing.json"
    watch = RoutingWatch(path)
    assert watch.look() is None
    for revision in (1, 2):
        write_routing(path, routing(revision))
        assert watch.look() == routing(revision)
        assert watch.look() is None


def test_a_watcher_tells_a_broken_file_once_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "routing.json"
    watch = RoutingWatch(path)
    path.write_text("{")
    with pytest.raises(InputError):
        watch.look()
    assert watch.look() is None
    path.unlink()
    write_routing(path, routing(1))
    assert watch.look() == routing(1)
