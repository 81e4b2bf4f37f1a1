"""Loading a domain."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.domain import load_domain, scaffold_domain
from kickwheel.errors import DomainError
from kickwheel.settings import get_settings
from kickwheel.yaml_document import YamlProblems


def rewrite(folder: Path, text: str) -> None:
    (folder / "domain.yaml").write_text(text, encoding="utf-8")


def test_scaffolded_domain_loads_with_its_rows(folder: Path) -> None:
    domain = load_domain(folder)
    assert (domain.name, domain.title, domain.zone) == ("demo", "Demo", "UTC")
    assert [path.name for path in domain.requirement_files] == ["tasks.md"]
    assert {row.frame.intent for row in domain.rows("seeds") if row.frame} == {"sync_orders", "fetch_api_logs", "out_of_scope"}
    assert all(row.frame is None for row in domain.rows("pool"))
    assert (domain.review, domain.rows("review"), domain.feedback, domain.feedback_cases()) == (None, [], None, [])
    assert domain.glossary().entity("用户订单") == "orders"


def test_files_may_be_named_otherwise(folder: Path) -> None:
    (folder / "pool.jsonl").rename(folder / "logs.jsonl")
    (folder / "requirements" / "tasks.md").rename(folder / "needs.md")
    rewrite(folder, "name: demo\nfiles: {pool: logs.jsonl, requirements: [needs.md]}\n")
    domain = load_domain(folder)
    assert domain.pool == folder / "logs.jsonl"
    assert domain.requirement_files == (folder / "needs.md",)
    assert domain.zone is None, "never the host's"


def test_settings_of_the_domain_override_defaults(folder: Path) -> None:
    rewrite(folder, "name: demo\nsettings:\n  seeding: {rounds: 3}\n")
    assert get_settings(load_domain(folder).settings).seeding.rounds == 3


@pytest.mark.parametrize(
    ("text", "line", "field", "why"),
    [
        ("title: x\n", None, "name", "required"),
        ("name: My Domain\n", 1, "name", "pattern"),
        ("name: demo\nzone: CST\n", 2, "zone", "ambiguous"),
        ("name: demo\nzone: EST\n", 2, "zone", "ambiguous"),
        ("name: demo\nzones: UTC\n", 2, "zones", "not permitted"),
        ("name: demo\nfiles: {seed: x}\n", 2, "files.seed", "not permitted"),
        ("name: demo\nsettings: {seeds: {}}\n", 2, "settings.seeds", "not permitted"),
        ("name: demo\nsettings: {home: {}}\n", 2, "settings.home", "not permitted"),
        ("name: demo\nsettings: {teacher: {api_key: abc}}\n", 2, "settings", "KICKWHEEL_TEACHER__API_KEY"),
    ],
)
def test_domain_file_that_does_not_hold_names_line_and_field(
    folder: Path, text: str, line: int | None, field: str, why: str
) -> None:
    rewrite(folder, text)
    with pytest.raises(YamlProblems, match=why) as error:
        load_domain(folder)
    assert error.value.field == field
    assert error.value.line == line


@pytest.mark.parametrize("name", ["seeds.jsonl", "pool.jsonl", "requirements/tasks.md"])
def test_missing_file_names_the_field(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DomainError) as error:
        load_domain(folder)
    assert error.value.field is not None
    assert error.value.field.startswith(f"files.{name.split('.')[0].split('/')[0]}")


@pytest.mark.parametrize("make", [False, True])
def test_folder_without_domain_says_how_to_make_one(tmp_path: Path, make: bool) -> None:
    folder = tmp_path / "empty"
    if make:
        folder.mkdir()
    with pytest.raises(DomainError, match="kickwheel init"):
        load_domain(folder)


def test_scaffold_never_overwrites(folder: Path) -> None:
    with pytest.raises(DomainError, match="exists already"):
        scaffold_domain("demo", folder.parent)


@pytest.mark.parametrize("name", ["", "Demo", "1st", "a-b", "../x", "订单"])
def test_scaffold_refuses_names_that_are_no_slugs(tmp_path: Path, name: str) -> None:
    with pytest.raises(DomainError, match="no name for a domain"):
        scaffold_domain(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
