"""Plans and results in the words of a table, the same in the terminal and in the Prefect UI."""

from __future__ import annotations

from schemas.execution import ExecutionPlan, ExecutionResult


def rows_of(told: ExecutionPlan | ExecutionResult) -> list[dict[str, str]]:
    """Rows of two columns, ``what`` and ``value``."""
    pairs = _of_plan(told) if isinstance(told, ExecutionPlan) else _of_result(told)
    return [
        {"what": what, "value": value}
        for what, value in [("task", f"{told.task} {told.task_version}"), ("action", told.action), *pairs]
    ]


def summary(told: ExecutionPlan | ExecutionResult) -> str:
    """One line."""
    if isinstance(told, ExecutionPlan):
        return f"{told.task} would {'; '.join(told.steps)}"
    counts = [f"{told.rows_read} rows read", f"{told.rows_written} written"]
    counts += [f"{told.rows_unmatched} unmatched"] if told.rows_unmatched else []
    counts += [f"{told.rows_failing} failing"] if told.rules else []
    broken = [outcome.rule for outcome in told.rules if outcome.failing]
    verdict = f"; broken: {', '.join(broken)}" if broken else ""
    return f"{told.task}: {', '.join(counts)} in {told.seconds:.1f} s{verdict}"


def artifact_key(told: ExecutionPlan | ExecutionResult) -> str:
    """Fixed for a task of a domain. Prefect takes lower-case letters, digits and dashes only."""
    kind = "plan" if isinstance(told, ExecutionPlan) else "execution"
    return f"{kind}-{told.domain}-{told.task}".replace("_", "-")


def _of_plan(plan: ExecutionPlan) -> list[tuple[str, str]]:
    places = [("reads", place) for place in plan.reads] + [("writes", place) for place in plan.writes]
    return [*places, *((f"step {number}", step) for number, step in enumerate(plan.steps, start=1))]


def _of_result(result: ExecutionResult) -> list[tuple[str, str]]:
    pairs = [("rows read", str(result.rows_read)), ("rows written", str(result.rows_written))]
    pairs += [("rows unmatched", str(result.rows_unmatched))] if result.action == "enrich" or result.rows_unmatched else []
    pairs += [("rows failing", str(result.rows_failing))] if result.rules else []
    pairs += [
        (f"rule: {outcome.rule}", f"{outcome.failing} failing" if outcome.failing else "holds") for outcome in result.rules
    ]
    pairs += [(f"written to {output.place}", f"{output.rows} rows") for output in result.outputs]
    pairs += [("failing rows", result.failing_sample.path)] if result.failing_sample else []
    pairs += [("note", note) for note in result.notes]
    return [*pairs, ("started", result.started_at), ("seconds", f"{result.seconds:.2f}")]
