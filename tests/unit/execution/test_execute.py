"""A domain's tasks: found, refused with the reason, planned and run; the example's tasks run offline."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kickwheel.domain import Domain, check_domain, load_domain, scaffold_domain
from kickwheel.errors import TaskRefused
from kickwheel.execution.domain_bindings import DomainBindings
from kickwheel.execution.enrich import EnrichExecutor
from kickwheel.execution.execute import Clock, find_task, plan_task, refusal, run_task, tasks_of
from kickwheel.execution.fetch import FetchExecutor
from kickwheel.execution.registry import ExecutorRegistry
from kickwheel.execution.sync import SyncExecutor
from kickwheel.execution.telling import artifact_key, rows_of, summary
from kickwheel.execution.validate import ValidateExecutor
from tests.unit.execution.execution_world import NOW, everything_below
from tests.unit.execution.plugin import LoudSync

SYNC_ORDERS = "orders_datalake:\n  source: {file: orders.csv}\n  output: {file: '${home}/orders.parquet'}\n"


@pytest.fixture
def registry() -> ExecutorRegistry:
    found = ExecutorRegistry([])
    for action, executor in {
        "sync": SyncExecutor(), "fetch": FetchExecutor(), "validate": ValidateExecutor(), "enrich": EnrichExecutor(),
    }.items():  # fmt: skip
        found.register(action, executor)
    return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def claims(tmp_path: Path, home: Path) -> Callable[[str, str], Domain]:
    folder = scaffold_domain("claims", tmp_path)
    (folder / "orders.csv").write_text("id\n1\n", encoding="utf-8")

    def make(bindings: str, statements: str = "") -> Domain:
        (folder / "bindings.yaml").write_text(bindings, encoding="utf-8")
        with (folder / "requirements" / "tasks.md").open("a", encoding="utf-8") as file:
            file.write(statements)
        return load_domain(folder)

    return make


def refused(domain: Domain, intent: str, registry: ExecutorRegistry) -> str:
    return refusal(DomainBindings.of(domain), find_task(tasks_of(domain), intent), registry)


def test_a_task_is_found_by_intent_and_by_id(claims: Callable[..., Domain]) -> None:
    catalog = tasks_of(claims(SYNC_ORDERS))
    found = find_task(catalog, "sync_orders")
    assert find_task(catalog, str(found.id)) is found
    with pytest.raises(TaskRefused, match="no task 'nothing'; there are: sync_orders, fetch_api_logs"):
        find_task(catalog, "nothing")


def test_reasons_for_which_a_task_is_refused(claims: Callable[..., Domain], registry: ExecutorRegistry) -> None:
    statements = "\n- Sync the zorblats every day at 7:00\n  - Intent: sync_zorblats\n"
    statements += "- Export orders every day at 8:00\n  - Intent: export_orders\n"
    domain = claims(SYNC_ORDERS, statements)
    assert refused(domain, "sync_orders", registry) == ""
    assert "bindings.yaml where its data lies" in refused(domain, "fetch_api_logs", registry)
    assert "fetch_api_logs or api_logs" in refused(domain, "fetch_api_logs", registry)
    assert "no executor for the action 'export'; known actions: enrich, fetch, sync" in refused(
        domain, "export_orders", registry
    )
    unknown = find_task(tasks_of(domain), "sync_zorblats")
    assert unknown.target is None
    for task, told in (
        (unknown, "flagged, so a person must look first"),
        (unknown.model_copy(update={"flag": None}), "has no target: the glossary does not know"),
    ):
        with pytest.raises(TaskRefused, match=told):
            plan_task(domain, task, registry=registry)
        with pytest.raises(TaskRefused, match=told):
            run_task(domain, task, registry=registry)


def test_a_binding_that_does_not_fit_its_action_is_refused_and_found_by_check(
    claims: Callable[..., Domain], registry: ExecutorRegistry
) -> None:
    domain = claims("orders_datalake:\n  source: {http: {url: 'http://x/y'}}\nordres:\n  source: {file: orders.csv}\n")
    told = "sync needs an output; sync reads a file or a table: fetch reads http"
    assert refused(domain, "sync_orders", registry) == f"the binding of sync_orders does not fit: {told}"
    found = [(problem.line, problem.field, problem.message) for problem in check_domain(domain.folder)]
    assert (1, "orders_datalake", f"fits no task that it is for: sync_orders: {told}") in found
    assert (3, "ordres", "no task has this name as its intent, target or entity; targets: orders_datalake, api_logs") in found


def test_tasks_of_one_entity_each_take_the_binding_that_fits_their_action(
    claims: Callable[..., Domain], registry: ExecutorRegistry, home: Path
) -> None:
    rules = "orders:\n  source: {file: orders.csv}\n  rules: [{not_null: id}]\n"
    domain = claims(SYNC_ORDERS + rules, "\n- Validate customer orders every day at 7:00\n")
    tasks = tasks_of(domain)
    assert run_task(domain, find_task(tasks, "sync_orders"), registry=registry).rows_written == 1
    assert run_task(domain, find_task(tasks, "validate_orders"), registry=registry).rows_failing == 0
    assert check_domain(domain.folder) == []
    alone = claims(rules)
    assert refused(alone, "sync_orders", registry) == (
        "the binding of sync_orders does not fit: sync needs an output; sync uses no lookup and no rules"
    )
    assert check_domain(alone.folder) == []  # the binding is of use, and a task may wait for its own


def test_check_tells_what_is_wrong_with_the_file_itself(claims: Callable[..., Domain]) -> None:
    domain = claims("orders_datalake:\n  source: {file: orders.xlsx}\n  colour: red\n")
    assert [(problem.line, problem.field) for problem in check_domain(domain.folder)] == [
        (2, "orders_datalake.source"), (3, "orders_datalake.colour"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["sync_orders", "orders_datalake", "orders"])
def test_a_binding_stands_under_intent_target_or_entity(
    claims: Callable[..., Domain], registry: ExecutorRegistry, home: Path, name: str
) -> None:
    domain = claims(SYNC_ORDERS.replace("orders_datalake", name))
    result = run_task(domain, find_task(tasks_of(domain), "sync_orders"), registry=registry)
    assert (result.rows_written, result.outputs[0].file and result.outputs[0].file.path) == (
        1, str(home / "claims" / "data" / "orders.parquet"),
    )  # fmt: skip
    assert check_domain(domain.folder) == []


def test_a_plug_in_runs_with_its_options(claims: Callable[..., Domain]) -> None:
    domain, registry = claims("orders:\n  source: {file: orders.csv}\n  options: {words: hello}\n"), ExecutorRegistry([])
    registry.register("sync", LoudSync())
    task = find_task(tasks_of(domain), "sync_orders")
    ticks = iter([NOW, datetime(2026, 11, 2, 9, 0, 3, tzinfo=UTC)])
    result = run_task(domain, task, registry=registry, clock=Clock(now=lambda: next(ticks)))
    assert (result.notes, result.seconds, result.started_at) == (("hello",), 3.0, "2026-11-02T09:00:00+00:00")


def test_the_example_s_tasks_run_offline_and_leave_what_their_bindings_say(
    root: Path, tmp_path: Path, home: Path, registry: ExecutorRegistry
) -> None:
    folder = tmp_path / "dataops"
    shutil.copytree(root / "examples" / "dataops", folder)
    assert check_domain(folder) == []
    domain = load_domain(folder)
    tasks = {task.intent: task for task in tasks_of(domain).tasks}
    for intent in ("sync_orders", "sync_payments", "validate_inventory", "enrich_addresses"):
        before = everything_below(tmp_path)
        plan_task(domain, tasks[intent], registry=registry)
        assert everything_below(tmp_path) == before
    assert run_task(domain, tasks["sync_orders"], registry=registry).rows_written == 6
    for _ in range(2):
        run_task(domain, tasks["sync_payments"], registry=registry)
    connection = sqlite3.connect(home / "dataops" / "data" / "ledger.db")
    assert connection.execute("SELECT count(*) FROM payments").fetchall() == [(4,)]
    connection.close()
    checked = run_task(domain, tasks["validate_inventory"], registry=registry)
    assert [outcome.failing for outcome in checked.rules] == [1, 0, 1, 1, 1, 2]
    assert (checked.rows_failing, checked.passed) == (5, False)
    assert [outcome.failing for outcome in run_task(domain, tasks["validate_invoices"], registry=registry).rules] == [
        0,
        1,
        2,
        1,
        1,
    ]
    assert run_task(domain, tasks["enrich_profiles"], registry=registry).rows_unmatched == 1
    assert run_task(domain, tasks["enrich_addresses"], registry=registry).rows_unmatched == 1
    with pytest.raises(TaskRefused, match="environment variable API_LOGS_URL is not set"):
        run_task(domain, tasks["fetch_api_logs"], registry=registry, environment={})
    bindings = DomainBindings.of(domain)
    assert [name for name in tasks if refusal(bindings, tasks[name], registry)] == [
        "export_sales_report",
        "archive_clickstream",
    ]
    assert artifact_key(checked) == "execution-dataops-validate-inventory"
    assert {"what": "rule: warehouse, sku unique", "value": "holds"} in rows_of(checked)
    assert "5 failing" in summary(checked)
