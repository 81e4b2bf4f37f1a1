"""Nobody is there: the nightly lap fires on a real Prefect server, feedback starts a distillation, zombies end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.schedules import IntervalSchedule
from prefect.states import Running, Suspended

from kickwheel.cli.zombies import NAME, ensure_zombies_end
from kickwheel.distillation.trigger_look import look_at
from kickwheel.execution.deployments import TAG
from kickwheel.feedback.lap_feedback import window_of
from kickwheel.feedback.opening import opened_store
from kickwheel.feedback.ports import Submission
from kickwheel.feedback.store_adapter import EVENT
from kickwheel.settings import get_settings
from kickwheel.testing.model_server import FakeModelServer
from kickwheel.workspace import open_lap
from schemas.events import InferenceRecord
from schemas.feedback import DistillationReport
from schemas.frame import Frame
from tests.orchestration.prefect_services import KICKWHEEL, PREFECT, free_port, process, wait_for
from tests.tiny_model import write_tiny_model

ROOT = Path(__file__).resolve().parents[2]
DOMAIN, MIN_ANSWERS = "dataops", 22
SLUGS = ("nightly-retraining", "feedback-at-noon", "feedback-watch", "nightly-retention")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("default"),  # Prefect's and MLflow's own dependencies warn
]


@dataclass(frozen=True)
class Services:
    """What runs, and where."""

    api: str
    home: Path
    domain: Path
    log: Path
    environment: dict[str, str]
    deployed: dict[str, Any] = field(default_factory=dict)
    """What the first `kickwheel deploy` said."""

    def deploy(self) -> dict[str, Any]:
        """What `kickwheel deploy` says."""
        command = [*KICKWHEEL, "deploy", "--json"]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def client(self) -> SyncPrefectClient:
        return SyncPrefectClient(self.api)

    def runs(self, flow: str, *states: str, seconds: float) -> list[dict[str, Any]]:
        """Flow runs in one of these states, as soon as there are some."""
        asked: dict[str, object] = {
            "flows": {"name": {"any_": [flow]}},
            "flow_runs": {"state": {"type": {"any_": list(states)}}},
        }
        return wait_for(f"{self.api}/flow_runs/filter", asked, seconds, self.log)

    def tell(self, event: str, flow_run: object) -> None:
        """An event about a flow run, as its process would send it."""
        tag = {"prefect.resource.id": "prefect.tag.kickwheel", "prefect.resource.role": "tag"}
        body = {"event": event, "resource": {"prefect.resource.id": f"prefect.flow-run.{flow_run}"}, "related": [tag]}
        stamp = {"id": str(uuid4()), "occurred": datetime.now(UTC).isoformat()}
        httpx2.post(f"{self.api}/events", json=[body | stamp]).raise_for_status()


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """A server, a worker and what `kickwheel deploy` makes of prefect.yaml; models are fake, since the schedule is tested."""
    folder = tmp_path_factory.mktemp("unattended")
    api, log, home = f"http://127.0.0.1:{(port := free_port())}/api", folder / "services.log", folder / "home"
    with FakeModelServer(reply=lambda messages, model: '{"intent": "fetch_api_logs", "slots": {}}') as models:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("KICKWHEEL_", "MLFLOW_"))},
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": api,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",  # a minute is long for a test
            "KICKWHEEL_HOME": str(home),
            "KICKWHEEL_MODEL__BASE": str(write_tiny_model(folder / "base")),
            "KICKWHEEL_TRAINER": "instant",
            "KICKWHEEL_SERVER__URL": models.url,
            "KICKWHEEL_TEACHER__BASE_URL": models.url,
            "KICKWHEEL_TEACHER__MODEL": models.base_name,
            "KICKWHEEL_SEEDING__PER_ROUND": "4",
            "KICKWHEEL_SEEDING__ROUNDS": "1",
            "KICKWHEEL_THROUGHPUT__START_RATE": "4",
            "KICKWHEEL_THROUGHPUT__MAX_POINTS": "1",
            "KICKWHEEL_THROUGHPUT__MIN_REQUESTS": "4",
            "KICKWHEEL_THROUGHPUT__STEP_S": "1",
            "KICKWHEEL_THROUGHPUT__UNLOADED_REQUESTS": "2",
            "KICKWHEEL_THROUGHPUT__BURST": "4",
            "KICKWHEEL_TRIGGER__MIN_ANSWERS": str(MIN_ANSWERS),
        }
        serve = [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        with process(serve, log, environment, folder):
            wait_for(f"{api}/health", None, 120, log)
            found = Services(api, home, few_rows(folder), log, environment)
            found.deployed.update(found.deploy())
            with process([*PREFECT, "worker", "start", "--pool", "kickwheel-local"], log, environment, folder):
                yield found


def few_rows(folder: Path) -> Path:
    """The example domain, small enough for a lap of seconds."""
    domain = folder / DOMAIN
    shutil.copytree(ROOT / "examples" / DOMAIN, domain)
    for name, rows in {"seeds": 40, "pool": 8, "valid": 8, "eval": 8, "feedback": 8}.items():
        path = domain / f"{name}.jsonl"
        path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:rows]), encoding="utf-8")
    return domain


def post_feedback(services: Services, name: str, version: str) -> None:
    """What users did with the answers of a day: two corrected one text alike, twenty had their task done."""
    at, shown, wanted = datetime.now(UTC), Frame(intent="out_of_scope"), Frame(intent="fetch_api_logs")
    records, events = [], []
    for number in range(MIN_ANSWERS):
        text = f"what did the gateway write down on {name}" if number < 2 else f"{name}: question {number}"
        fields = {"inference_id": f"{name}-{number}", "at": at}
        records.append(InferenceRecord(user=f"u{number}", text=text, frame=shown, model_version=version, **fields))
        if number < 2:
            events.append(
                EVENT.validate_python({"kind": "slot_edit", "event_id": f"{name}-e{number}", "frame": wanted, **fields})
            )
        outcome = {"kind": "outcome", "event_id": f"{name}-o{number}", "completed": number >= 2, "turns": 2, **fields}
        events.append(EVENT.validate_python(outcome))
        thumb = {"kind": "thumbs", "event_id": f"{name}-t{number}", "up": number >= 2, **fields}
        events.append(EVENT.validate_python(thumb))
    settings = get_settings({"home": services.home})
    with opened_store(settings, DOMAIN) as store:
        store.add([Submission(tuple(records), tuple(events))])


def test_the_nightly_lap_fires_once_and_mlflow_shows_it(services: Services) -> None:
    told = services.deployed
    assert {item["slug"]: item["active"] for item in told["schedules"]} == dict.fromkeys(SLUGS, False)
    post_feedback(services, "monday", "probe")
    where = {"domain": str(services.domain)}
    with services.client() as client:
        nightly = client.read_deployment_by_name("iteration/nightly")
        client.update_deployment_schedule(nightly.id, nightly.schedules[0].id, active=True, parameters=where)
        again = services.deploy()
        assert [item["slug"] for item in again["schedules"] if item["active"]] == ["nightly-retraining"]  # what is on stays on
        [schedule] = client.read_deployment_by_name("iteration/nightly").schedules
        assert schedule.parameters == where
        soon = IntervalSchedule(interval=timedelta(days=1), anchor_date=datetime.now(UTC) + timedelta(seconds=8))
        client.update_deployment_schedule(nightly.id, schedule.id, schedule=soon)
    ended = services.runs("iteration", "COMPLETED", "FAILED", "CRASHED", seconds=240)

    assert [(run["state_type"], run["auto_scheduled"]) for run in ended] == [("COMPLETED", True)], services.log.read_text()[
        -4000:
    ]
    lap = mlflow_run(services, "lap-0001")
    assert lap.info.status == "FINISHED"
    assert lap.data.tags["prefect.flow_run_id"] == ended[0]["id"]
    assert lap.data.tags["prefect.deployment"] == "nightly"
    assert lap.data.metrics.keys() >= {"eval/joint_frame_accuracy", "business/task_completion", "business/cost_per_1k_tasks"}
    window = window_of(open_lap(services.home, DOMAIN, 1))
    assert window is not None
    assert window.observations.rows == MIN_ANSWERS  # the day's feedback


def test_enough_feedback_starts_a_distillation_through_an_event(services: Services) -> None:
    champion = open_lap(services.home, DOMAIN, 1).load("distillation", DistillationReport).champion
    post_feedback(services, "tuesday", champion)
    with services.client() as client:
        watch = client.read_deployment_by_name("feedback_watch/local")
        client.create_flow_run_from_deployment(watch.id, parameters={"domain": str(services.domain)})
    [ended] = services.runs("feedback_lap", "COMPLETED", "FAILED", "CRASHED", seconds=150)

    assert ended["state_type"] == "COMPLETED", services.log.read_text()[-4000:]
    assert ended["parameters"] == {"domain": str(services.domain)}
    assert ended["created_by"]["type"] == "AUTOMATION"
    metrics = mlflow_run(services, "lap-0002").data.metrics
    assert metrics["business/replayed"] == 0  # real users of the champion take the place of replayed ones
    assert metrics["business/task_completion"] == pytest.approx((MIN_ANSWERS - 2) / MIN_ANSWERS)
    assert metrics["business/correction_rate"] == pytest.approx(2 / MIN_ANSWERS)
    settings = get_settings({"home": services.home})
    assert not look_at(settings, DOMAIN).telling_answers  # used: the next look says nothing


def test_a_run_without_heartbeats_ends_and_one_that_waits_for_people_does_not(services: Services) -> None:
    with services.client() as client:
        assert ensure_zombies_end(client) == "unchanged"  # `kickwheel deploy` has made it
        assert ensure_zombies_end(client, timedelta(seconds=10)) == "changed"
        [automation] = client.read_automations_by_name(NAME)
        dead, waiting = (client.create_flow_run(Flow(lambda: None, name=name), tags=[TAG]).id for name in ("dead", "waiting"))
        for run in (dead, waiting):
            client.set_flow_run_state(run, Running(), force=True)
            services.tell("prefect.flow-run.heartbeat", run)
        client.set_flow_run_state(waiting, Suspended(), force=True)
        [crashed] = services.runs("dead", "CRASHED", seconds=60)
        assert crashed["state"]["message"] == "no heartbeat for 10 s"
        assert client.read_flow_run(waiting).state_name == "Suspended"
        client.pause_automation(automation.id)
        assert ensure_zombies_end(client, timedelta(seconds=20)) == "changed"
        assert [item.enabled for item in client.read_automations_by_name(NAME)] == [False]


def mlflow_run(services: Services, name: str) -> Run:
    mlflow = MlflowClient(f"sqlite:///{services.home / 'mlflow.db'}")
    experiment = mlflow.get_experiment_by_name(DOMAIN)
    assert experiment is not None
    return next(run for run in mlflow.search_runs([experiment.experiment_id]) if run.info.run_name == name)
