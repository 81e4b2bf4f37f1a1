"""A schedule out of a document fires by itself: a full Prefect server, a process worker, and a result in the UI."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.orchestration.prefect_services import KICKWHEEL, PREFECT, free_port, process, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]


def test_a_scheduled_run_executes_unattended_and_shows_its_result(small_domain: Path, tmp_path: Path) -> None:
    api = f"http://127.0.0.1:{(port := free_port())}/api"
    home = tmp_path / "home"
    environment = {
        **os.environ,
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_URL": api,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "KICKWHEEL_HOME": str(home),
    }
    (small_domain / "orders.csv").write_text("id\n0001\n", encoding="utf-8")
    bindings = "orders_datalake:\n  source: {file: orders.csv}\n  output: {file: '${home}/orders.parquet'}\n"
    (small_domain / "bindings.yaml").write_text(bindings, encoding="utf-8")
    log = tmp_path / "services.log"
    elsewhere = tmp_path / "elsewhere"  # a worker is started anywhere
    elsewhere.mkdir()
    with process([*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)], log, environment, elsewhere):
        wait_for(f"{api}/health", None, 120, log)
        due = (datetime.now(UTC) + timedelta(seconds=85)).replace(second=0)
        statement = f"- Sync customer orders to the data lake every day at {due:%H:%M} UTC\n"
        (small_domain / "requirements" / "tasks.md").write_text(statement, encoding="utf-8")
        deploy = [*KICKWHEEL, "intent", "deploy", small_domain.name, "--json"]
        done = subprocess.run(deploy, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        [task] = json.loads(done.stdout)["tasks"]
        assert (task["action"], task["next_run"]) == ("created", due.isoformat(timespec="seconds").replace(".000000", ""))
        # PrefectHQ/prefect 18894: a redeploy doubled the planned runs
        scheduled = {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}}
        planned = {planned["id"] for planned in wait_for(f"{api}/flow_runs/filter", scheduled, 60, log)}
        again = subprocess.run(deploy, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert [row["action"] for row in json.loads(again.stdout)["tasks"]] == ["unchanged"]
        after = wait_for(f"{api}/flow_runs/filter", scheduled, 10, log)
        assert planned <= {run["id"] for run in after}
        assert len({run["expected_start_time"] for run in after}) == len(after)
        with process([*PREFECT, "worker", "start", "--pool", "kickwheel-local"], log, environment, elsewhere):
            completed = {"flow_runs": {"state": {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED"]}}}}
            [run] = wait_for(f"{api}/flow_runs/filter", completed, 240, log)
            assert run["state_type"] == "COMPLETED", log.read_text()[-4000:]
            assert run["auto_scheduled"] is True
            [artifact] = wait_for(f"{api}/artifacts/filter", {"artifacts": {"key": {"like_": "execution-"}}}, 10, log)
    assert artifact["key"] == "execution-claims-sync-orders-datalake"
    assert artifact["flow_run_id"] == run["id"]
    assert {"what": "rows written", "value": "1"} in json.loads(str(artifact["data"]))
    assert pq.read_table(home / "claims" / "data" / "orders.parquet").to_pylist() == [{"id": "0001"}]
