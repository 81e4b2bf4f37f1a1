"""YAML problems come with file, line and field."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from kickwheel.yaml_document import YamlProblems, parse_yaml, read_yaml


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int = 0
    names: list[int] = []


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str = ""
    inner: Inner = Inner()


def places(text: str, first_line: int = 1) -> list[tuple[int | None, str | None]]:
    with pytest.raises(YamlProblems) as error:
        parse_yaml(text, Outer, file="x.yaml", first_line=first_line)
    assert {problem.file for problem in error.value.problems} == {"x.yaml"}
    return [(problem.line, problem.field) for problem in error.value.problems]


def test_every_bad_field_is_reported_with_its_line() -> None:
    assert places("title: [1]\ninner:\n  count: many\n  names:\n    - 1\n    - two\n  other: 1\n") == [
        (1, "title"),
        (3, "inner.count"),
        (6, "inner.names.1"),
        (7, "inner.other"),
    ]


def test_key_that_stands_twice_is_not_silently_overwritten() -> None:
    assert places("title: a\ninner:\n  count: 1\n  count: 2\ntitle: b\n") == [(4, "inner.count"), (5, "title")]


@pytest.mark.parametrize(("text", "line"), [("title: 'a\n", 2), ("a: b: c\n", 1), ("\tx: 1\n", 1)])
def test_broken_yaml_names_the_line(text: str, line: int) -> None:
    assert places(text) == [(line, None)]


def test_lines_count_from_where_the_text_begins() -> None:
    assert places("title: a\nwrong: 1\n", first_line=10) == [(11, "wrong")]


def test_other_things_than_a_mapping_are_refused() -> None:
    assert places("- a\n- b\n") == [(1, None)]


def test_nothing_is_an_empty_mapping() -> None:
    assert parse_yaml("", Outer, file="x.yaml") == Outer()


def test_missing_file_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(YamlProblems, match="no such file"):
        read_yaml(tmp_path / "none.yaml", Outer)


def test_problems_travel_between_processes() -> None:
    with pytest.raises(YamlProblems) as error:
        parse_yaml("wrong: 1", Outer, file="x.yaml")
    copy = pickle.loads(pickle.dumps(error.value))  # noqa: S301
    assert (str(copy), copy.line, copy.field) == (str(error.value), 1, "wrong")
