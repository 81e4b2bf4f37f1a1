"""bindings.yaml: every problem with file and line, no credential in it, secrets hidden again in messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import TaskRefused
from kickwheel.execution.bindings import load_bindings
from kickwheel.execution.placeholders import placeholders_of
from kickwheel.yaml_document import YamlProblems
from tests.unit.execution.execution_world import binding


def problems_of(tmp_path: Path, text: str) -> list[tuple[int | None, str]]:
    path = tmp_path / "bindings.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(YamlProblems) as caught:
        load_bindings(path)
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_a_domain_without_the_file_binds_nothing() -> None:
    assert load_bindings(None) == {}


def test_every_problem_comes_with_its_line(tmp_path: Path) -> None:
    text = """\
orders_datalake:
  source: {file: orders.xlsx}
  output:
    file: lake/orders.parquet
    key: [id]
inventory:
  source: {file: inventory.csv}
  rules:
    - not_null: sku
    - range: {column: quantity}
    - {unique: sku, not_null: sku}
"""
    assert problems_of(tmp_path, text) == [
        (2, "Value error, expected a file that ends in .csv, .csv.gz, .parquet, .jsonl, .jsonl.gz, got 'orders.xlsx'"),
        (3, "Value error, key is for tables: a file is always written as a whole"),
        (10, "Value error, a range needs min, max or both"),
        (
            11,
            "Value error, expected exactly one of not_null, unique, range, allowed, pattern, row_count, foreign_key, sql; "
            "got not_null, unique",
        ),
    ]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("{url: 'postgresql://shop:s3cret@db/shop', table: orders}", "credentials do not belong in a file"),
        ("{url: 'mysql://db/shop?password=s3cret', table: orders}", "credentials do not belong in a file"),
        ("{http: {url: 'https://u:s3cret@api/x'}}", "credentials do not belong in a file"),
        ("{http: {url: 'https://api/x?api_key=s3cret'}}", "credentials do not belong in a file"),
        ("{http: {url: 'https://api/x', headers: {Authorization: Bearer s3cret}}}", "Authorization: credentials do not belong"),
        ("{http: {url: 'https://api/x', headers: {X-Api-Key: s3cret}}}", "X-Api-Key: credentials do not belong"),
        ("{http: {url: 'https://api/x', params: {token: s3cret}}}", "token: credentials do not belong"),
        ("{http: {url: 'ftp://api/x'}}", "begins with http:// or https://"),
        ("{url: shop.db, table: orders}", "expected a SQLAlchemy URL"),
        ("{table: orders}", "a table needs both"),
        ("{file: a.csv, url: 'sqlite:///x.db', table: t}", "either a file, or a table"),
        ("{file: a.csv, http: {url: 'https://api/x'}}", "expected one of"),
        ("{file: a.parquet, types: {id: VARCHAR}}", "types are for CSV"),
        ("{http: {url: 'https://api/x', paging: {by: cursor}}}", "'next' says where"),
    ],
)
def test_a_source_that_does_not_hold_is_refused_and_no_secret_repeated(tmp_path: Path, source: str, told: str) -> None:
    [(line, message)] = problems_of(tmp_path, f"orders:\n  source: {source}\n")
    assert line == 2
    assert told in message
    assert "s3cret" not in message


def test_credentials_of_the_environment_are_fine() -> None:
    bound = binding("  source: {url: 'postgresql://${DB_USER}:${DB_PASSWORD}@db/shop', table: sales.orders}")
    assert bound.source.describe() == "postgresql://${DB_USER}:${DB_PASSWORD}@db/shop table sales.orders"
    assert binding("  source: {url: '${SHOP_DB}', table: orders}").source.url == "${SHOP_DB}"


def test_join_columns_are_a_name_names_or_pairs() -> None:
    for written, read in (("id", {"id": "id"}), ("[a, b]", {"a": "a", "b": "b"}), ("{user: id}", {"user": "id"})):
        bound = binding(f"  source: {{file: a.csv}}\n  lookup: {{file: b.csv, keys: {written}}}")
        assert bound.lookup
        assert bound.lookup.keys == read


def test_only_named_variables_are_filled_in_and_their_values_are_hidden() -> None:
    environment = {"DB": "postgresql://shop:p%40ss@db/shop", "OTHER": "never touched"}
    holders = placeholders_of("${DB} ${domain}", environment, {"domain": "here"})
    assert holders.fill("${domain}/x ${DB}") == "here/x postgresql://shop:p%40ss@db/shop"
    assert holders.hide("cannot reach postgresql://shop:p%40ss@db/shop here") == "cannot reach ${DB} here"
    assert holders.hide("password 'p@ss' or p%40ss refused") == "password '${DB}' or ${DB} refused"
    with pytest.raises(TaskRefused, match="environment variable OTHER is not set"):
        holders.fill("${OTHER}")
