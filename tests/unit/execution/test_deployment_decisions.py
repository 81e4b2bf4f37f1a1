"""Which deployments change: only those that must, and never another domain's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kickwheel.domain import Domain, load_domain, scaffold_domain
from kickwheel.execution.deployments import Change, RunPlace, Standing, Wanted, anchored, decide, fields_of
from kickwheel.execution.execute import tasks_of
from kickwheel.execution.fetch import FetchExecutor
from kickwheel.execution.registry import ExecutorRegistry
from kickwheel.execution.sync import SyncExecutor
from schemas.task import Schedule, TaskCatalog
from tests.unit.execution.execution_world import NOW

PLACE = RunPlace("pool", "here", "home")


@pytest.fixture
def claims(tmp_path: Path) -> Domain:
    folder = scaffold_domain("claims", tmp_path)
    (folder / "bindings.yaml").write_text(
        "orders: {source: {file: o.csv}, output: {file: p.csv}}\n"
        "api_logs: {source: {http: {url: 'http://x/y'}}, output: {file: l.jsonl}}\n",
        encoding="utf-8",
    )
    return load_domain(folder)


def decided(domain: Domain, standing: list[Standing], catalog: TaskCatalog | None = None) -> dict[str, Change]:
    registry = ExecutorRegistry([])
    registry.register("sync", SyncExecutor())
    registry.register("fetch", FetchExecutor())
    changes = decide(domain, catalog or tasks_of(domain), standing, PLACE, registry, NOW)
    return {change.task: change for change in changes}


def deployed(wanted: Wanted) -> Standing:
    schedules = ((wanted.slug, anchored(wanted.schedule)),) if wanted.schedule else ()
    return Standing(id=wanted.task, name=wanted.name, schedules=schedules, fields=fields_of(wanted))


@pytest.fixture
def standing(claims: Domain) -> list[Standing]:
    return [deployed(change.wanted) for change in decided(claims, []).values() if change.wanted]


def test_the_first_time_every_task_is_created_with_its_next_run(claims: Domain) -> None:
    changes = decided(claims, [])
    assert {task: change.action for task, change in changes.items()} == {"sync_orders": "created", "fetch_api_logs": "created"}
    assert changes["sync_orders"].next_run == NOW  # 9:00 UTC, the scaffold's zone
    wanted = changes["sync_orders"].wanted
    assert wanted
    assert wanted.tags == ("kickwheel", "domain:claims", "task:sync_orders")
    assert wanted.parameters == {"domain": str(claims.folder.resolve()), "task": "sync_orders", "dry_run": False}
    assert wanted.slug == "sync-orders"


def test_the_second_time_nothing_changes(claims: Domain, standing: list[Standing]) -> None:
    assert {change.action for change in decided(claims, standing).values()} == {"unchanged"}


def test_a_changed_time_or_parameter_is_a_change(claims: Domain, standing: list[Standing]) -> None:
    old = replace(standing[0], schedules=(("sync-orders", Schedule(cron="0 8 * * *", zone="UTC")),))
    assert decided(claims, [old, standing[1]])["sync_orders"].action == "changed"
    moved = replace(standing[0], fields={**standing[0].fields, "parameters": {"domain": "elsewhere", "task": "sync_orders"}})
    assert decided(claims, [moved, standing[1]])["sync_orders"].action == "changed"
    doubled = replace(standing[0], schedules=standing[0].schedules * 2)
    assert decided(claims, [doubled, standing[1]])["sync_orders"].action == "changed"


def test_a_task_that_is_gone_loses_its_schedule_once(claims: Domain, standing: list[Standing]) -> None:
    catalog = tasks_of(claims)
    shorter = catalog.model_copy(update={"tasks": catalog.tasks[1:]})
    change = decided(claims, standing, shorter)["sync_orders"]
    assert (change.action, change.reason) == ("schedule removed", "the documents have no such task any more")
    assert change.standing is standing[0]
    assert "sync_orders" not in decided(claims, [replace(standing[0], schedules=()), standing[1]], shorter)


def test_a_task_that_is_refused_loses_its_schedule(claims: Domain, standing: list[Standing]) -> None:
    catalog = tasks_of(claims)
    flagged = catalog.tasks[0].model_copy(update={"flag": "which orders?"})
    change = decided(claims, standing, catalog.model_copy(update={"tasks": (flagged, catalog.tasks[1])}))["sync_orders"]
    assert change.action == "refused"
    assert "which orders?; its schedule is removed" in change.reason
    assert change.standing is standing[0]


def test_what_a_person_switched_off_stays_off(claims: Domain, standing: list[Standing]) -> None:
    off = replace(standing[0], switched_off=True)
    change = decided(claims, [off, standing[1]])["sync_orders"]
    assert (change.action, change.next_run, change.reason) == ("unchanged", None, "its schedule is switched off in Prefect")


def test_a_task_without_a_time_has_no_schedule(claims: Domain) -> None:
    catalog = tasks_of(claims)
    timeless = catalog.model_copy(update={"tasks": (catalog.tasks[0].model_copy(update={"schedule": None}),)})
    change = decided(claims, [], timeless)["sync_orders"]
    assert (change.action, change.schedule, change.next_run) == ("created", None, None)


def test_next_run_is_on_the_zone_s_clock(claims: Domain) -> None:
    catalog = tasks_of(claims)
    schedule = Schedule(rrule="FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=20;BYMINUTE=0;BYSECOND=0", zone="Asia/Shanghai")
    monthly = catalog.model_copy(update={"tasks": (catalog.tasks[0].model_copy(update={"schedule": schedule}),)})
    change = decided(claims, [], monthly)["sync_orders"]
    assert change.next_run
    assert change.next_run.astimezone(UTC) == datetime(2026, 11, 30, 12, tzinfo=UTC)
