"""validate: every rule counts exactly, failing rows are sampled, broken rules are a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kickwheel.errors import ExecutionFailed
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.validate import ValidateExecutor
from schemas.execution import ExecutionResult
from tests.unit.execution.execution_world import binding, everything_below, task

Around = Callable[..., Surroundings]
TASK = task("validate", "validate_inventory", "inventory")
STOCK = """\
id,sku,quantity,at,kind
1,SKU-1,5,2026-01-01,book
2,SKU-2,-1,2026-02-01,book
3,,x,2026-03-01,
4,sku-4,,2026-04-01,toy
4,SKU-1,7,soon,书
"""


@pytest.fixture
def stock(folder: Path) -> Path:
    (folder / "kinds.csv").write_text("name\nbook\n书\n", encoding="utf-8")
    path = folder / "stock.csv"
    path.write_text(STOCK, encoding="utf-8")
    return path


def validated(around: Around, rules: str, more: str = "") -> ExecutionResult:
    bound = binding(f"  source: {{file: stock.csv}}\n{more}  rules:\n    - {rules}\n")
    return ValidateExecutor().run(TASK, bound, around(bound))


def sample(result: ExecutionResult) -> list[dict[str, object]]:
    assert result.failing_sample
    return [json.loads(line) for line in Path(result.failing_sample.path).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("rule", "words", "failing"),
    [
        ("not_null: sku", "sku not empty", [3]),
        ("not_null: [sku, quantity]", "sku, quantity not empty", [3, 4]),
        ("unique: id", "id unique", [4, 5]),
        ("unique: [id, sku]", "id, sku unique", []),
        ("unique: kind", "kind unique", [1, 2]),
        ("range: {column: quantity, min: 0}", "quantity >= 0", [2, 3]),
        ("range: {column: quantity, min: 0, max: 6}", "quantity >= 0 and <= 6", [2, 3, 5]),
        ("range: {column: id, max: 3}", "id <= 3", [4, 5]),
        ("range: {column: at, min: 2026-02-01}", "at >= 2026-02-01", [1, 5]),
        ("allowed: {column: kind, values: [book, 书]}", "kind one of book, 书", [4]),
        ("allowed: {column: id, values: [1, 2, 3]}", "id one of 1, 2, 3", [4, 5]),
        ("pattern: {column: sku, matches: 'SKU-[0-9]+'}", "sku matches SKU-[0-9]+", [4]),
        ("foreign_key: {column: kind, source: {file: kinds.csv}, key: name}", "kind stands in kinds.csv as name", [4]),
        ("sql: id < 4 OR kind = '书'", "id < 4 OR kind = '书'", [4]),
        ("{name: no toys, sql: kind <> 'toy'}", "no toys", [4]),
        ("{name: it's fine, not_null: id}", "it's fine", []),
    ],
)
def test_a_rule_counts_and_samples_the_rows_that_break_it(
    stock: Path, around: Around, rule: str, words: str, failing: list[int]
) -> None:
    result = validated(around, rule)
    assert (result.rows_read, result.rows_failing) == (5, len(failing))
    [outcome] = result.rules
    assert (outcome.rule, outcome.failing) == (words, len(failing))
    assert result.passed is not bool(failing)
    if not failing:
        assert result.failing_sample is None
        return
    assert [row["number"] for row in sample(result)] == failing
    assert all(row["rule"] == words for row in sample(result))


@pytest.mark.parametrize(
    ("rule", "off"), [("{min: 1}", 0), ("{min: 8}", 3), ("{max: 4}", 1), ("{min: 5, max: 5}", 0), ("{max: 0}", 5)]
)
def test_a_row_count_tells_how_many_are_missing_or_too_many(stock: Path, around: Around, rule: str, off: int) -> None:
    result = validated(around, f"row_count: {rule}")
    assert (result.rules[0].failing, result.rows_failing, result.failing_sample) == (off, 0, None)
    assert result.passed is (off == 0)


def test_a_row_that_breaks_two_rules_is_one_failing_row(stock: Path, around: Around) -> None:
    result = validated(around, "not_null: sku\n    - range: {column: quantity, min: 0}")
    assert [outcome.failing for outcome in result.rules] == [1, 2]
    assert result.rows_failing == 2
    assert [(row["rule"], row["number"]) for row in sample(result)] == [
        ("sku not empty", 3), ("quantity >= 0", 2), ("quantity >= 0", 3),
    ]  # fmt: skip
    assert sample(result)[0]["row"] == {"id": 3, "sku": None, "quantity": "x", "at": "2026-03-01", "kind": None}


def test_the_sample_is_capped_and_the_counts_are_not(folder: Path, around: Around) -> None:
    (folder / "stock.csv").write_text("id\n" + "-1\n" * 50_000, encoding="utf-8")
    result = validated(around, "range: {column: id, min: 0}", "  sample: 3\n")
    assert result.rules[0].failing == 50_000
    assert result.failing_sample
    assert (result.failing_sample.rows, [row["number"] for row in sample(result)]) == (3, [1, 2, 3])


def test_an_empty_file_breaks_only_a_row_count(folder: Path, around: Around) -> None:
    (folder / "stock.csv").write_text("id\n", encoding="utf-8")
    result = validated(around, "not_null: id\n    - unique: id\n    - row_count: {min: 1}")
    assert [outcome.failing for outcome in result.rules] == [0, 0, 1]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("not_null: colour", "rule 'colour not empty': no column 'colour'; there are: id, sku, quantity, at, kind"),
        ("sql: colour = 1", 'colour" not found'),
        ("sql: id <", "rule 'id <'"),
        ("foreign_key: {column: kind, source: {file: kinds.csv}, key: id}", "kinds.csv has no column 'id'; it has: name"),
        ("foreign_key: {column: kind, source: {file: none.csv}, key: id}", "none.csv: there is no such file"),
    ],
)
def test_a_rule_that_does_not_fit_the_data_is_an_error_in_plan_and_run(
    stock: Path, around: Around, rule: str, told: str
) -> None:
    bound = binding(f"  source: {{file: stock.csv}}\n  rules:\n    - {rule}\n")
    for step in (ValidateExecutor().plan, ValidateExecutor().run):
        with pytest.raises(ExecutionFailed, match=told):
            step(TASK, bound, around(bound))


def test_a_dry_run_names_the_rules_and_writes_nothing(stock: Path, tmp_path: Path, around: Around) -> None:
    before = everything_below(tmp_path)
    bound = binding("  source: {file: stock.csv}\n  rules:\n    - not_null: sku\n    - row_count: {min: 9}\n")
    plan = ValidateExecutor().plan(TASK, bound, around(bound))
    assert plan.steps == ("check 5 rows: sku not empty", "check 5 rows: rows >= 9")
    assert everything_below(tmp_path) == before
