"""The lap on disk: atomic results, durable logs, resuming."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import InputError, StageFailed, StageInputMissing
from kickwheel.workspace import (
    append_durably,
    fingerprint,
    folder_ref,
    is_complete,
    open_lap,
    previous_lap,
    read_jsonl,
    read_log,
    write_jsonl,
)
from schemas.base import DataRef
from schemas.task import TaskCatalog
from schemas.utterance import Utterance


def row(name: str) -> Utterance:
    return Utterance(id=name, text=f"同步 {name} 😀", language="zh")


def test_jsonl_round_trips_with_hash_and_count(tmp_path: Path) -> None:
    ref = write_jsonl(tmp_path / "rows.jsonl", [row("a"), row("b")])
    assert ref.rows == 2
    assert read_jsonl(Path(ref.path), Utterance) == [row("a"), row("b")]
    assert write_jsonl(tmp_path / "again.jsonl", [row("a"), row("b")]).sha256 == ref.sha256


def test_a_bad_row_names_file_line_and_field(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(row("a").model_dump_json() + '\n\n{"id": "b", "text": "", "language": "en"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"rows\.jsonl:3: field 'text'") as caught:
        read_jsonl(path, Utterance)
    assert (caught.value.line, caught.value.field) == (3, "text")


def test_a_torn_log_line_is_passed_over_and_closed_off(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_durably(path, [row("a")])
    with path.open("ab") as file:
        file.write(b'{"id": "torn", "te')  # what kill -9 leaves
    append_durably(path, [row("b")])
    assert [item.id for item in read_log(path, Utterance)] == ["a", "b"]


def test_a_stage_is_finished_only_for_the_same_inputs(tmp_path: Path) -> None:
    lap = open_lap(tmp_path, "dataops")
    catalog = TaskCatalog(domain="dataops", tasks=())
    with pytest.raises(StageInputMissing, match="kickwheel run DOMAIN --stages intent"):
        lap.load("intent", TaskCatalog)
    lap.finish("intent", catalog, "one", now=0.0)
    assert lap.finished("intent", TaskCatalog, "one") == catalog
    assert lap.finished("intent", TaskCatalog, "two") is None
    assert lap.work("tuning", "one" * 10) != lap.work("tuning", "two" * 10)


def test_an_unfinished_lap_is_taken_up_and_a_complete_one_is_followed_by_the_next(tmp_path: Path) -> None:
    first = open_lap(tmp_path, "dataops")
    assert open_lap(tmp_path, "dataops") == first
    (first.folder / "report.json").write_text("{}")
    assert is_complete(first)
    second = open_lap(tmp_path, "dataops")
    assert second.number == 2
    assert previous_lap(tmp_path, "dataops", second) == first


def test_fingerprints_follow_content_not_place(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("same")
    two.write_text("same")
    assert fingerprint(one, {"a": 1, "b": 2}) == fingerprint(two, {"b": 2, "a": 1})
    two.write_text("other")
    assert fingerprint(one) != fingerprint(two)
    assert fingerprint(DataRef(path="a", sha256="0" * 64, rows=1)) != fingerprint(DataRef(path="a", sha256="1" * 64, rows=1))


def test_a_folder_reference_changes_with_names_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "a").write_bytes(b"1")
    before = folder_ref(tmp_path / "weights")
    (tmp_path / "weights" / "a").rename(tmp_path / "weights" / "b")
    assert folder_ref(tmp_path / "weights").sha256 != before.sha256


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_a_clear_error() -> None:
    with pytest.raises(StageFailed, match=r"the disk is full: /dev/full .* set KICKWHEEL_HOME"):
        append_durably(Path("/dev/full"), [row("a")])
