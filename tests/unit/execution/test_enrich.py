"""enrich: every row once, unmatched ones counted, doubled lookup keys refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kickwheel.errors import ExecutionFailed
from kickwheel.execution.enrich import EnrichExecutor
from kickwheel.execution.ports import Surroundings
from tests.unit.execution.execution_world import binding, everything_below, task

Around = Callable[..., Surroundings]
TASK = task("enrich", "enrich_profiles", "profiles")


@pytest.fixture
def people(folder: Path) -> Path:
    (folder / "people.csv").write_text("id,name\n01,李雷\n02,Ines\n03,Tom\n03,Tim\n", encoding="utf-8")
    (folder / "tags.csv").write_text("user,tag,score\n01,摄影,1\n03,running,2\n09,unused,3\n", encoding="utf-8")
    return folder


def bound_to(lookup: str = "file: tags.csv, keys: {id: user}, columns: [tag]") -> Any:
    return binding(f"  source: {{file: people.csv}}\n  lookup: {{{lookup}}}\n  output: {{file: '${{home}}/people.parquet'}}")


def rows(home: Path) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in pq.read_table(home / "people.parquet").to_pylist()), key=str)


def test_every_row_once_and_unmatched_ones_are_counted(people: Path, home: Path, around: Around) -> None:
    bound = bound_to()
    result = EnrichExecutor().run(TASK, bound, around(bound))
    assert rows(home) == [("01", "李雷", "摄影"), ("02", "Ines", None), ("03", "Tim", "running"), ("03", "Tom", "running")]
    assert (result.rows_read, result.rows_written, result.rows_unmatched) == (4, 4, 1)


def test_doubled_lookup_keys_are_refused_by_name(people: Path, home: Path, around: Around) -> None:
    with (people / "tags.csv").open("a", encoding="utf-8") as file:
        file.write("03,again,4\n,nobody,5\n,nobody,6\n")
    bound = bound_to()
    with pytest.raises(ExecutionFailed, match=r"tags.csv: 1 keys of user stand in more than one row: 03 \(2 rows\)"):
        EnrichExecutor().run(TASK, bound, around(bound))
    assert not home.exists()


def test_columns_are_renamed_or_all(people: Path, home: Path, around: Around) -> None:
    bound = bound_to("file: tags.csv, keys: {id: user}, columns: {score: weight}")
    EnrichExecutor().run(TASK, bound, around(bound))
    assert pq.read_table(home / "people.parquet").column_names == ["id", "name", "weight"]
    bound = bound_to("file: tags.csv, keys: {id: user}")
    EnrichExecutor().run(TASK, bound, around(bound))
    assert pq.read_table(home / "people.parquet").column_names == ["id", "name", "tag", "score"]


def test_a_code_that_is_a_number_in_one_file_matches_text_in_the_other(people: Path, home: Path, around: Around) -> None:
    (people / "people.csv").write_text("id,name\n1,a\n2,b\n", encoding="utf-8")
    (people / "tags.csv").write_text("user,tag\n1,x\nK9,y\n", encoding="utf-8")
    bound = bound_to()
    assert EnrichExecutor().run(TASK, bound, around(bound)).rows_unmatched == 1


@pytest.mark.parametrize(
    ("lookup", "told"),
    [
        ("file: tags.csv, keys: id", "the lookup has no column 'id'; it has: user, tag, score"),
        ("file: tags.csv, keys: {key: user}", "the source has no column 'key'"),
        ("file: tags.csv, keys: {id: user}, columns: [colour]", "the lookup has no column 'colour'"),
        ("file: tags.csv, keys: {id: user}, columns: {tag: name}", "has a column 'name' already"),
        ("file: none.csv, keys: id", "none.csv: there is no such file"),
    ],
)
def test_columns_that_do_not_fit_are_an_error_in_plan_and_run(people: Path, around: Around, lookup: str, told: str) -> None:
    bound = bound_to(lookup)
    for step in (EnrichExecutor().plan, EnrichExecutor().run):
        with pytest.raises(ExecutionFailed, match=told):
            step(TASK, bound, around(bound))


def test_a_dry_run_says_what_is_joined_and_writes_nothing(people: Path, tmp_path: Path, around: Around) -> None:
    before = everything_below(tmp_path)
    bound = bound_to()
    plan = EnrichExecutor().plan(TASK, bound, around(bound))
    assert plan.steps[0] == "add tag of 3 lookup rows to 4 rows, on id = user"
    assert everything_below(tmp_path) == before
