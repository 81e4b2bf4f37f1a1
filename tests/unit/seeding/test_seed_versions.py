"""Versions of labelled rows: kept by their hash, found by its beginning, compared by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.seeding.personal_data import masked
from kickwheel.seeding.seed_versions import FOLDER, diff_versions, find_version, keep_version
from kickwheel.workspace import hash_file, write_jsonl
from schemas.base import DataRef
from schemas.frame import Frame
from schemas.utterance import Utterance
from tests.unit.seeding.seeding_world import row

OLD = [
    row("a", "orders of EMEA", "sync_orders", region="EMEA"),
    row("b", "把昨天的订单同步一下", "sync_orders", date="昨天"),
    row("c", "logs of kong", "fetch_logs", service="kong"),
    row("d", "mail ann@example.com about orders", "sync_orders", region="ann@example.com"),
]


def version(folder: Path, rows: list[Utterance], name: str = "rows") -> DataRef:
    return write_jsonl(folder / f"{name}.jsonl", rows)


def test_a_version_is_a_file_named_by_its_hash_that_nobody_changes(tmp_path: Path) -> None:
    ref = version(tmp_path, OLD)
    kept = keep_version(ref, tmp_path / "home" / "dataops" / FOLDER)
    assert kept.stem == ref.sha256 == hash_file(kept)
    version(tmp_path, OLD[:1])  # the lap writes its file anew
    assert hash_file(kept) == ref.sha256
    assert kept.stat().st_mode & 0o222 == 0
    assert keep_version(DataRef(path="gone", sha256=ref.sha256, rows=4), kept.parent) == kept


def test_a_version_is_found_by_a_path_or_by_the_beginning_of_its_hash(tmp_path: Path) -> None:
    ref = version(tmp_path, OLD)
    kept = keep_version(ref, tmp_path / "home" / "dataops" / FOLDER)
    home = tmp_path / "home"
    assert find_version(ref.path, home) == Path(ref.path)
    assert find_version(ref.sha256[:8], home) == kept


def test_what_names_no_version_or_two_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "dataops" / FOLDER
    folder.mkdir(parents=True)
    for rest in ("a", "b"):
        (folder / f"{'1234' + rest * 60}.jsonl").touch()
    with pytest.raises(InputError, match="2 versions begin with it"):
        find_version("1234", tmp_path)
    for name in ("123", "ffff", "../x", "*"):
        with pytest.raises(InputError, match="no such file, and no version begins with it"):
            find_version(name, tmp_path)


def test_a_diff_names_rows_by_id(tmp_path: Path) -> None:
    relabelled = OLD[1].model_copy(update={"frame": Frame(intent="sync_orders")})
    unlabelled = OLD[2].model_copy(update={"frame": None})
    new = [relabelled, unlabelled, masked(OLD[3]), row("e", "lunch?", "out_of_scope")]
    found = diff_versions(Path(version(tmp_path, OLD, "old").path), Path(version(tmp_path, new, "new").path))
    assert (found.added, found.removed, found.reworded, found.unchanged) == (("e",), ("a",), ("d",), 0)
    assert [(item.id, item.before, item.after) for item in found.relabelled] == [
        ("b", OLD[1].frame, relabelled.frame),
        ("c", OLD[2].frame, None),
    ]
    assert found.before == hash_file(tmp_path / "old.jsonl")


def test_the_order_of_rows_and_where_labels_came_from_are_no_change(tmp_path: Path) -> None:
    other = [item.model_copy(update={"provenance": None}) for item in OLD[::-1]]
    found = diff_versions(Path(version(tmp_path, OLD, "old").path), Path(version(tmp_path, other, "new").path))
    assert (found.added, found.removed, found.relabelled, found.reworded, found.unchanged) == ((), (), (), (), 4)


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = Path(version(tmp_path, [OLD[0], OLD[0]]).path)
    with pytest.raises(InputError, match="'a' stands there twice"):
        diff_versions(path, path)
