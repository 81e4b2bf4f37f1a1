"""``kickwheel intent deploy`` against a real Prefect server: one schedule a task, none doubled, none left over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from prefect import Flow, get_client
from prefect.client.schemas.responses import DeploymentResponse
from prefect.flows import load_flow_from_entrypoint
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.execution.deployments import ENTRYPOINT, FLOW

ROOT = Path(__file__).resolve().parents[2]
BINDINGS = """\
orders_datalake:
  source: {file: orders.csv}
  output: {file: "${home}/orders.parquet"}
api_logs:
  source: {http: {url: "${API_LOGS_URL}"}}
  output: {file: "${home}/api_logs.jsonl"}
"""
STATEMENTS = (
    "- Sync customer orders to the data lake every day at 9:00\n",
    "- 每小时拉取API日志\n",
    "- Export customer orders every day at 10:00\n",
)

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture
def domain(small_domain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks that can run and one without an executor; called by a relative path."""
    monkeypatch.setenv("KICKWHEEL_HOME", "home")
    monkeypatch.chdir(tmp_path)
    (small_domain / "bindings.yaml").write_text(BINDINGS, encoding="utf-8")
    (small_domain / "orders.csv").write_text("id\n0001\n", encoding="utf-8")
    return Path(small_domain.name)


def write(domain: Path, *statements: str) -> None:
    text = "---\nzone: Europe/Berlin\n---\n\n" + "".join(statements)
    (domain / "requirements" / "tasks.md").write_text(text, encoding="utf-8")


def deploy(domain: Path, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code, and what was said of each task."""
    result: Result = CliRunner().invoke(app, ["intent", "deploy", str(domain), "--json", *options])
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, {row["task"]: row for row in json.loads(result.stdout)["tasks"]}


def deployments() -> dict[str, DeploymentResponse]:
    with get_client(sync_client=True) as client:
        return {item.name: item for item in client.read_deployments() if "domain:claims" in item.tags}


def schedules() -> dict[str, list[tuple[str | None, str, str | None]]]:
    """Slug, expression and zone of every schedule, by deployment."""
    return {
        name: [
            (item.slug, getattr(item.schedule, "cron", None) or getattr(item.schedule, "rrule", ""), item.schedule.timezone)  # type: ignore[union-attr]
            for item in deployment.schedules
        ]
        for name, deployment in deployments().items()
    }


def test_deploying_follows_the_documents(domain: Path, tmp_path: Path) -> None:
    write(domain, *STATEMENTS)
    code, dry = deploy(domain, "--dry-run")
    assert (code, dry["sync_orders_datalake"]["action"], deployments()) == (1, "created", {})

    # PrefectHQ/prefect 18894: a redeploy doubled schedules
    code, first = deploy(domain)
    assert code == 1
    assert {task: row["action"] for task, row in first.items()} == {
        "sync_orders_datalake": "created", "fetch_api_logs": "created", "export_orders": "refused",
    }  # fmt: skip
    assert (
        "no executor for the action 'export'; known actions: enrich, fetch, sync, validate" in first["export_orders"]["reason"]
    )
    once = {
        "claims-sync_orders_datalake": [("sync-orders-datalake", "0 9 * * *", "Europe/Berlin")],
        "claims-fetch_api_logs": [("fetch-api-logs", "0 * * * *", "Europe/Berlin")],
    }
    assert schedules() == once
    before = {name: (item.id, item.updated, item.schedules[0].id) for name, item in deployments().items()}
    _, second = deploy(domain)
    assert {row["action"] for row in second.values()} == {"unchanged", "refused"}
    assert {name: (item.id, item.updated, item.schedules[0].id) for name, item in deployments().items()} == before

    found = deployments()["claims-sync_orders_datalake"]
    assert found.parameters == {"domain": str(tmp_path / "claims"), "task": "sync_orders_datalake", "dry_run": False}
    assert set(found.tags) == {"kickwheel", "domain:claims", "task:sync_orders_datalake"}
    assert found.job_variables == {"env": {"KICKWHEEL_HOME": str(tmp_path / "home")}}
    assert found.work_pool_name == "kickwheel-local"
    assert found.enforce_parameter_schema

    # a changed time is the same deployment with another schedule; a rule that cron can't say is an RRULE
    write(domain, STATEMENTS[0].replace("every day at 9:00", "on the last day of the month at 8pm"), STATEMENTS[1])
    code, changed = deploy(domain)
    assert code == 0
    assert {task: row["action"] for task, row in changed.items()} == {
        "sync_orders_datalake": "changed", "fetch_api_logs": "unchanged",
    }  # fmt: skip
    rule = "DTSTART:20200101T000000\nFREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=20;BYMINUTE=0;BYSECOND=0"
    assert schedules()["claims-sync_orders_datalake"] == [("sync-orders-datalake", rule, "Europe/Berlin")]
    assert deployments()["claims-sync_orders_datalake"].id == before["claims-sync_orders_datalake"][0]
    assert deploy(domain)[1]["sync_orders_datalake"]["action"] == "unchanged"

    # PrefectHQ/prefect 23097: an empty list of schedules left the old one
    write(domain, STATEMENTS[0])
    _, fewer = deploy(domain)
    assert fewer["fetch_api_logs"]["action"] == "schedule removed"
    assert schedules() == {**once, "claims-fetch_api_logs": []}
    assert "fetch_api_logs" not in deploy(domain)[1]


def test_what_a_person_switched_off_stays_off_and_other_domains_are_left_alone(domain: Path) -> None:
    write(domain, STATEMENTS[0])
    deploy(domain)
    with get_client(sync_client=True) as client:
        flow = client.create_flow_from_name(FLOW)
        other = client.create_deployment(flow, "other", tags=["kickwheel", "domain:other"])
        ours = deployments()["claims-sync_orders_datalake"]
        client.update_deployment_schedule(ours.id, ours.schedules[0].id, active=False)
        for time in ("9:00", "10:00"):
            write(domain, STATEMENTS[0].replace("9:00", time))
            _, rows = deploy(domain)
            assert rows["sync_orders_datalake"]["reason"] == "its schedule is switched off in Prefect"
            [schedule] = deployments()["claims-sync_orders_datalake"].schedules
            assert (schedule.active, getattr(schedule.schedule, "cron", "")) == (False, f"0 {int(time[:-3])} * * *")
        assert client.read_deployment(other).name == "other"
        client.delete_deployment(deployments()["claims-sync_orders_datalake"].id)


def test_a_work_pool_that_is_not_there_is_an_error(domain: Path) -> None:
    write(domain, STATEMENTS[0])
    result = CliRunner().invoke(app, ["intent", "deploy", str(domain), "--work-pool", "nowhere"])
    assert "there is no work pool 'nowhere'" in str(result.exception)


def test_the_entrypoint_loads_for_real_and_takes_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    flow: Flow[..., Any] = load_flow_from_entrypoint(ENTRYPOINT, use_placeholder_flow=False)
    assert flow.name == FLOW
    flow.validate_parameters({"domain": "x", "task": "y", "dry_run": False})
    assert all("anyOf" not in schema for schema in flow.parameters.properties.values())


def test_executing_shows_the_result_in_the_ui(domain: Path) -> None:
    write(domain, STATEMENTS[0])
    result = CliRunner().invoke(app, ["intent", "execute", str(domain), "sync_orders_datalake", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["rows_written"], told["outputs"][0]["place"]) == (1, "${home}/orders.parquet")
    with get_client(sync_client=True) as client:
        from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

        key = ArtifactFilter(key=ArtifactFilterKey(any_=["execution-claims-sync-orders-datalake"]))
        [artifact] = client.read_artifacts(artifact_filter=key)
    assert {"what": "rows written", "value": "1"} in json.loads(str(artifact.data))


def test_broken_rules_are_a_completed_run_that_says_so(domain: Path) -> None:
    (domain / "bindings.yaml").write_text("orders:\n  source: {file: orders.csv}\n  rules: [{row_count: {min: 2}}]\n")
    write(domain, "- Validate customer orders every day at 9:00\n")
    result = CliRunner().invoke(app, ["intent", "execute", str(domain), "validate_orders"])
    assert result.exit_code == 1
    assert "1 failing" in result.stdout
    with get_client(sync_client=True) as client:
        from prefect.client.schemas.sorting import FlowRunSort

        [run] = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC, limit=1)
    assert run.state
    assert (run.state.type.value, run.state.name) == ("COMPLETED", "Rules broken")
