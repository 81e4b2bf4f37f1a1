"""What a start of the service leads to: the routing that stands, the champion on a server, or the probe, and it says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.domain import Domain, load_domain
from kickwheel.errors import InputError, ServiceUnavailable
from kickwheel.serving.first_routing import Choice, replaced
from kickwheel.serving.first_routing_adapter import choose, in_service
from kickwheel.serving.routing_adapter import read_routing, routing_path, write_routing
from kickwheel.settings import Settings
from kickwheel.testing.model_server import FakeModelServer
from kickwheel.testing.sample_report import sample_adapter
from schemas.base import FolderRef
from schemas.serving import Routing, ServedVersion
from schemas.tuning import AdapterArtifact
from tests.conftest import ROOT


@pytest.fixture
def domain() -> Domain:
    return load_domain(ROOT / "examples" / "dataops")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def promoted(folder: Path) -> AdapterArtifact:
    """A champion whose adapter, and base, lie in ``folder``."""
    folder.mkdir()
    champion = sample_adapter("dataops-lap-0002", parent=None)
    return champion.model_copy(update={"folder": FolderRef(path=str(folder), sha256="0" * 64), "base_model": str(folder)})


def start(domain: Domain, settings: Settings, choice: Choice) -> Routing:
    """The routing that was put in service, as the file has it."""
    with in_service(domain, settings, choice) as routing:
        assert read_routing(routing_path(settings.home, domain.name)) == routing
        return routing


def test_the_champion_is_loaded_on_the_server_that_is_named(domain: Domain, settings: Settings, tmp_path: Path) -> None:
    champion = promoted(tmp_path / "adapter")
    with FakeModelServer() as server:
        choice = choose(domain, settings, model_url=server.url, champion_of=lambda _domain, _settings: champion)
        assert server.adapters == {}  # decided, not done
        routing = start(domain, settings, choice)
        assert server.adapters == {champion.name: str(tmp_path / "adapter")}
        assert (routing.revision, routing.champion.url, routing.champion.model) == (1, server.url, champion.name)
        assert routing.champion.folder == str(tmp_path / "adapter")
        again = start(domain, settings, choose(domain, settings))
        assert again == routing  # it stands and answers: nothing is written


def test_a_server_that_does_not_answer_is_told(domain: Domain, settings: Settings, tmp_path: Path) -> None:
    champion = promoted(tmp_path / "adapter")
    with FakeModelServer() as server:
        url = server.url
    choice = choose(domain, settings, model_url=url, champion_of=lambda _domain, _settings: champion)
    with pytest.raises(ServiceUnavailable), in_service(domain, settings, choice):
        pass
    assert read_routing(routing_path(settings.home, domain.name)) is None


def test_without_vllm_the_probe_serves_and_says_why(
    domain: Domain, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    champion = promoted(tmp_path / "adapter")
    missing = settings.model_copy(update={"server": settings.server.model_copy(update={"command": "no-such-command"})})
    choice = choose(domain, missing, champion_of=lambda _domain, _settings: champion)
    assert choice.champion == ServedVersion(name="dataops-probe", kind="probe")
    assert "no-such-command" in choice.told
    assert start(domain, missing, choice).champion.kind == "probe"


def test_nothing_promoted_and_a_server_without_a_name_is_refused(domain: Domain, settings: Settings) -> None:
    with pytest.raises(InputError, match="--model"):
        choose(domain, settings, model_url="http://127.0.0.1:1/v1", champion_of=lambda _domain, _settings: None)


def test_another_champion_leaves_a_trial_running(domain: Domain, settings: Settings) -> None:
    trial = Routing(
        revision=4,
        champion=ServedVersion(name="a", kind="probe"),
        challenger=ServedVersion(name="b", kind="vllm", url="http://127.0.0.1:1/v1", model="b", folder="b"),
        challenger_share=0.2,
        experiment="t",
    )
    write_all(routing_path(settings.home, domain.name), trial)
    routing = start(domain, settings, choose(domain, settings, probe=True))
    assert (routing.revision, routing.champion.name) == (5, "dataops-probe")
    assert (routing.challenger, routing.challenger_share, routing.experiment) == (trial.challenger, 0.2, "t")
    moved = ServedVersion(name="b", kind="vllm", url="http://127.0.0.1:2/v1", model="b", folder="b")
    assert replaced(trial, {"b": moved}, trial.champion).challenger == moved
    assert replaced(trial, {}, trial.champion) is trial


def write_all(path: Path, routing: Routing) -> None:
    for revision in range(1, routing.revision + 1):
        write_routing(path, routing.model_copy(update={"revision": revision}))
