"""``validate``: rules over the rows of a table or file."""

from __future__ import annotations

from pathlib import Path

from kickwheel.errors import ExecutionFailed
from kickwheel.execution.bindings import Binding
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.rule_sql import breaks
from kickwheel.execution.rules import RowCount, Rule
from kickwheel.execution.staging_adapter import Staging, literal, staging
from schemas.base import DataRef
from schemas.execution import ExecutionPlan, ExecutionResult, RuleOutcome
from schemas.task import TaskSchema

SAMPLE_FILE = "failing_rows.jsonl"


class ValidateExecutor:
    """Counts the rows that break each rule and keeps the first of them. Broken rules are a result, not an error."""

    def check(self, binding: Binding) -> tuple[str, ...]:
        """Needs rules, and a source that is no service."""
        return tuple(
            problem
            for problem, found in (
                ("validate needs rules", not binding.rules),
                ("validate reads a file or a table: fetch reads http", binding.source.http is not None),
                ("validate uses no lookup and writes no output", bool(binding.lookup or binding.output)),
            )
            if found
        )

    def plan(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionPlan:
        """Counts the rows and looks for the rules' columns."""
        with staging(surroundings, on_disk=False) as rows:
            columns, count = rows.look_at("source", binding.source)
            _check_columns(binding.rules, columns)
            if binding.source.table is None:
                _checked(rows, [rule for rule in binding.rules if not rule.row_count])
        references = [rule.foreign_key.source.describe() for rule in binding.rules if rule.foreign_key]
        return surroundings.plan(
            task,
            reads=(binding.source.describe(), *references),
            writes=(str(surroundings.work / SAMPLE_FILE),),
            steps=tuple(f"check {count} rows: {rule.words()}" for rule in binding.rules),
            rows=count,
        )

    def run(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionResult:
        """Check every rule, all in one pass over the rows."""
        row_rules = [rule for rule in binding.rules if not rule.row_count]
        with staging(surroundings) as rows:
            rows.load("source", binding.source)
            _check_columns(binding.rules, rows.columns("source"))
            checked = _checked(rows, row_rules)
            sums = "".join(f", count(*) FILTER (WHERE breaks[{n}])" for n in range(1, len(row_rules) + 1))
            [(read, failing, *counts)] = rows.execute(
                f"SELECT count(*), count(*) FILTER (WHERE list_contains(breaks, true)){sums} FROM ({checked})"  # noqa: S608
            )
            found = dict(zip(map(id, row_rules), counts, strict=True))
            outcomes = tuple(
                RuleOutcome(rule=rule.words(), failing=_off(rule.row_count, read) if rule.row_count else found[id(rule)])
                for rule in binding.rules
            )
            stamp = surroundings.started.strftime("%Y%m%dT%H%M%S.%fZ")
            sample = _sample(rows, checked, row_rules, binding.sample, surroundings.work / stamp) if failing else None
        return surroundings.result(task, rows_read=read, rows_failing=failing, rules=outcomes, failing_sample=sample)


def _checked(rows: Staging, rules: list[Rule]) -> str:
    """Query of every row as a struct, its number from 1, and a list that says of each rule whether the row breaks it."""
    expressions = []
    for number, rule in enumerate(rules):
        reference = f"reference_{number}"
        if rule.foreign_key:
            rows.load(reference, rule.foreign_key.source)
            there = rows.columns(reference)
            if rule.foreign_key.key not in there:
                place = rule.foreign_key.source.describe()
                raise ExecutionFailed(f"{place} has no column {rule.foreign_key.key!r}; it has: {', '.join(there)}")
        expression = breaks(rule, reference)
        try:
            rows.execute(f"SELECT {expression} FROM source LIMIT 0")  # noqa: S608 - checked alone, so that an error names the rule
        except ExecutionFailed as error:
            raise ExecutionFailed(f"rule '{rule.words()}': {error}") from None
        expressions.append(expression)
    listed = f"CAST([{', '.join(expressions)}] AS BOOLEAN[])"
    return f'SELECT source AS "row", row_number() OVER () AS number, {listed} AS breaks FROM source'  # noqa: S608


def _sample(rows: Staging, checked: str, rules: list[Rule], most: int, folder: Path) -> DataRef:
    """The first rows that break each rule, with the rule's words."""
    broken = f'SELECT number, "row" FROM ({checked}) WHERE breaks'  # noqa: S608 - names are quoted
    parts = [
        f"(SELECT {literal(rule.words())} AS rule, * FROM ({broken}[{number}]) ORDER BY number LIMIT {most})"  # noqa: S608
        for number, rule in enumerate(rules, start=1)
    ]
    return rows.write_file(" UNION ALL ".join(parts), folder / SAMPLE_FILE)


def _check_columns(rules: tuple[Rule, ...], columns: tuple[str, ...]) -> None:
    for rule in rules:
        missing = [name for name in rule.columns if name not in columns]
        if missing:
            raise ExecutionFailed(f"rule '{rule.words()}': no column {missing[0]!r}; there are: {', '.join(columns)}")


def _off(wanted: RowCount, rows: int) -> int:
    """Rows that are missing or too many."""
    low, high = wanted.min or 0, wanted.max
    return max(0, low - rows, rows - high if high is not None else 0)
