"""``kickwheel ab``, ``promote``, ``rollback`` and ``history`` on a real registry, event store and routing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kickwheel.cli import app
from kickwheel.domain import scaffold_domain
from kickwheel.errors import InputError
from kickwheel.feedback.opening import opened_store
from kickwheel.feedback.ports import Submission
from kickwheel.promotion.opening_adapter import ledger_path
from kickwheel.serving.routing_adapter import read_routing, routing_path, write_routing
from kickwheel.settings import get_settings
from kickwheel.testing.instant_trainer import TINY, write_untrained_adapter
from kickwheel.testing.model_server import FakeModelServer
from kickwheel.tracking.registry_adapter import AdapterRegistry
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tracking.store_adapter import open_store
from kickwheel.workspace import folder_ref
from schemas.events import InferenceRecord, OutcomeEvent
from schemas.frame import Frame
from schemas.serving import Routing, ServedVersion
from schemas.tuning import AdapterArtifact, LoraPlan

pytestmark = pytest.mark.filterwarnings("default")  # MLflow's own dependencies warn


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A domain with two versions in the registry, the first in service on a fake model server."""
    home = tmp_path / "home"
    monkeypatch.setenv("KICKWHEEL_HOME", str(home))
    domain = scaffold_domain("claims", tmp_path)
    client, experiment = open_store(get_settings(), "claims")
    registry = AdapterRegistry(client, "claims", ledger_path(home, "claims"))
    run = RunRecorder(client, client.create_run(experiment).info.run_id)
    with FakeModelServer() as server:
        for number, gate in (("1", "promote: the first"), ("2", "hold: the gain may be chance")):
            folder, plan = tmp_path / f"claims-{number}", LoraPlan(seed=int(number))
            write_untrained_adapter(folder, TINY, plan)
            adapter = AdapterArtifact(
                name=folder.name, folder=folder_ref(folder), base_model="b", base_path="b", train_sha256="0" * 64, plan=plan
            )
            registry.note_gate(registry.register(adapter, run), gate)
        server.adapters["claims-1"] = str(tmp_path / "claims-1")
        champion = ServedVersion(name="claims-1", registry_version="1", kind="vllm", url=server.url, model="claims-1")
        write_routing(routing_path(home, "claims"), Routing(revision=1, champion=champion))
        yield domain


def kickwheel(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(item) for item in arguments])


def answered(home: Path, units: dict[str, int], completion: dict[str, int], *, routing: Routing | None = None) -> None:
    """Answers and outcomes of so many units an arm; of ten tasks so many are completed. ``routing`` names the trial."""
    now = datetime.now(UTC) + timedelta(seconds=1)
    experiment = routing.experiment if routing else ""
    versions = {"champion": "claims-1", "challenger": "claims-2"}
    if routing and routing.challenger:
        versions = {"champion": routing.champion.name, "challenger": routing.challenger.name}
    records, events = [], []
    for arm, count in units.items():
        for unit in range(count):
            name = f"{experiment}{arm}-{unit}"
            records.append(
                InferenceRecord(
                    inference_id=name,
                    user=name,
                    text="sync the orders",
                    frame=Frame(intent="out_of_scope"),
                    model_version=versions[arm],
                    arm=arm,
                    experiment=experiment,
                    latency_ms=20.0,
                    at=now,
                )
            )
            events.append(OutcomeEvent(event_id=name, inference_id=name, at=now, completed=unit % 10 < completion[arm]))
    with opened_store(get_settings(), "claims") as store:
        store.add([Submission(tuple(records), tuple(events))])


def test_a_trial_from_start_to_promotion_and_back(served: Path) -> None:
    home = get_settings().home
    assert kickwheel("ab", served).exit_code == 1  # no trial is running
    first = kickwheel("promote", served, "1", "--json")
    assert json.loads(first.stdout)["to_version"] == "1"

    started = kickwheel("ab", served, "--start", "2", "--share", "0.5", "--json")
    assert started.exit_code == 0, started.output
    assert json.loads(started.stdout)["share"] == 0.5

    # 60/40 where 50/50 was asked, however well the challenger does
    answered(home, {"champion": 300, "challenger": 200}, {"champion": 5, "challenger": 9})
    skewed = kickwheel("ab", served, "--json")
    assert skewed.exit_code == 3
    verdict = json.loads(skewed.stdout)
    assert verdict["decision"] == "invalid"
    assert verdict["reasons"][0].startswith("invalid: sample ratio: units champion 300 / challenger 200")

    # the version that the gate held back needs a reason, and a dry run moves nothing
    refused = kickwheel("promote", served)
    assert isinstance(refused.exception, InputError)
    assert "the running trial speaks against version 2 (invalid: " in str(refused.exception)
    assert "would promote version 2" in kickwheel("promote", served, "2", "--reason", "seen", "--dry-run").stdout
    routing = read_routing(routing_path(home, "claims"))
    assert routing is not None
    assert routing.champion.name == "claims-1"

    promoted = kickwheel("promote", served, "--reason", "looked at by ana", "--by", "ana", "--json")
    assert promoted.exit_code == 0, promoted.output
    history = json.loads(kickwheel("history", served, "--json").stdout)
    assert (history["champion"], history["serving"]) == ("2", "claims-2")
    last = history["moves"][-1]
    assert (last["by"], last["from_version"], last["to_version"]) == ("ana", "1", "2")
    by_hand, of_trial, of_gate = last["reasons"]
    assert (by_hand, of_gate) == ("by hand: looked at by ana", "gate: hold: the gain may be chance")
    assert of_trial.startswith("trial: invalid: invalid: sample ratio")
    assert last["evidence"]["trial_units_champion"] == 300

    back = kickwheel("rollback", served, "--reason", "completion fell")
    assert "version 1 (claims-1) is champion again" in back.stdout
    history = json.loads(kickwheel("history", served, "--json").stdout)
    assert (history["champion"], history["serving"], history["routing_revision"]) == ("1", "claims-1", 4)
    told = kickwheel("history", served).stdout
    assert "rollback  champion: 2 -> 1 (claims-1)" in told
    assert "completion fell" in told


def test_a_trial_that_is_won_stands_for_the_gate_and_one_that_is_lost_against_it(served: Path) -> None:
    home = get_settings().home
    kickwheel("promote", served, "1")
    kickwheel("ab", served, "--start", "2", "--share", "0.5")
    answered(home, {"champion": 300, "challenger": 300}, {"champion": 5, "challenger": 9})
    assert json.loads(kickwheel("ab", served, "--json").stdout)["challenger"]["p95_ms"] == 20.0
    move = json.loads(kickwheel("promote", served, "2", "--json").stdout)
    assert move["reasons"][0].startswith("trial: challenger: completion: challenger 90.0 %, champion 50.0 %")
    assert move["evidence"]["trial_difference_low"] > 0

    kickwheel("ab", served, "--start", "1", "--share", "0.5")  # the gate let it through, but now it is worse
    answered_again = {"champion": 9, "challenger": 5}
    routing = read_routing(routing_path(home, "claims"))
    assert routing is not None
    answered(home, {"champion": 310, "challenger": 310}, answered_again, routing=routing)
    refused = kickwheel("promote", served, "1")
    assert "the running trial speaks against version 1" in str(refused.exception)
