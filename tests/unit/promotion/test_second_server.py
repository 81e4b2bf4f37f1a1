"""Merged weights in service: a second server, the switch, the end of the first; adapters where no server takes them."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from kickwheel.errors import InputError, ServerFailed, ServiceError, StaleRouting
from kickwheel.inference.switch_adapter import Stoppable, drain
from kickwheel.promotion.ledger import Ledger
from kickwheel.promotion.moves import Mover
from kickwheel.promotion.traffic_adapter import ServedTraffic
from kickwheel.serving.routing_adapter import read_routing, write_routing
from kickwheel.testing.model_server import Failure, FakeModelServer
from schemas.promotion import PromotableVersion
from schemas.serving import Routing, ServedVersion
from tests.unit.promotion.fake_registry import FakeRegistry


class Held:
    """A fake server that a promotion started."""

    def __init__(self, keeper: Keeper, server: FakeModelServer):
        self._keeper, self.server = keeper, server
        self.url, self.base_name = server.url, server.base_name

    def stop(self) -> None:
        self.server.die()
        del self._keeper.held[self.url]


class Keeper:
    """Starts fake servers: merged weights under their own name, an adapter beside a base."""

    def __init__(self) -> None:
        self.held: dict[str, Held] = {}
        self.started: list[str] = []
        self.reply: Callable[..., str | Failure] = lambda _messages, _model: "{}"
        self.fails = False

    def start(self, version: PromotableVersion) -> Stoppable:
        if self.fails:
            raise ServerFailed("no memory left")
        for held in self.held.values():
            if held.base_name == version.name:
                return held
        merged = version.kind == "merged"
        server = FakeModelServer(base_name=version.name if merged else "base", lora=not merged, ttft_s=0.02, reply=self.reply)
        server.__enter__()
        if not merged:
            server.adapters[version.name] = version.folder.path
        self.started.append(version.name)
        self.held[server.url] = Held(self, server)
        return self.held[server.url]

    def running(self) -> dict[str, Stoppable]:
        return dict(self.held)


class World:
    """A domain whose champion, adapter a1, is on a server that somebody else holds."""

    def __init__(self, folder: Path, first: FakeModelServer):
        self.keeper, self.registry, self.path = Keeper(), FakeRegistry(folder, champion="a1"), folder / "routing.json"
        self.traffic = ServedTraffic(self.path, servers=self.keeper, wait_until_idle=partial(drain, settle_s=0.3, limit_s=20.0))
        self.mover = Mover(self.registry, self.traffic, Ledger(folder / "ledger.jsonl"), "ana", lambda: "2026-01-01")
        first.adapters["shop-a1"] = str(folder)
        champion = ServedVersion(name="shop-a1", registry_version="a1", kind="vllm", url=first.url, model="shop-a1")
        write_routing(self.path, Routing(revision=1, champion=champion))

    def serving(self) -> ServedVersion:
        routing = read_routing(self.path)
        assert routing is not None
        return routing.champion


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        made = World(tmp_path, stack.enter_context(FakeModelServer(ttft_s=0.02)))
        yield made
        for held in list(made.keeper.held.values()):
            held.stop()


def test_merged_weights_replace_each_other_under_load_without_a_failed_request(world: World) -> None:
    stop, failures, models = threading.Event(), [], []

    def ask() -> None:
        while not stop.wait(0.01):
            now = world.serving()
            body = json.dumps({"model": now.model, "messages": [{"role": "user", "content": "x"}]}).encode()
            request = urllib.request.Request(f"{now.url}/chat/completions", body, {"Content-Type": "application/json"})  # noqa: S310
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                    models.append(json.loads(answer.read())["model"])
            except (urllib.error.URLError, OSError) as error:
                failures.append(repr(error))

    callers = [threading.Thread(target=ask) for _ in range(3)]
    for caller in callers:
        caller.start()
    first = world.serving().url
    world.mover.promote("m2", reasons=("better",))
    second = world.serving()
    assert (second.name, second.model, second.folder.endswith("m2")) == ("shop-m2", "shop-m2", True)
    assert drain(first, settle_s=0.0)  # it runs on: no promotion had started it
    world.mover.promote("m3", reasons=("better still",))
    assert list(world.keeper.held) == [world.serving().url] != [second.url]  # what the promotion started, it ended
    time.sleep(0.2)
    stop.set()
    for caller in callers:
        caller.join(20)
    assert failures == []
    assert list(dict.fromkeys(models)) == ["shop-a1", "shop-m2", "shop-m3"]
    assert world.registry.aliases["champion"] == "m3"

    world.mover.rollback()
    assert world.keeper.started == ["shop-m2", "shop-m3", "shop-m2"]
    assert world.serving().name == "shop-m2"


@pytest.mark.parametrize("how", ["no server", "no answer", "stale"])
def test_what_does_not_come_up_leaves_routing_alias_and_no_server(
    world: World, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.keeper.fails = how == "no server"
    if how == "no answer":
        world.keeper.reply = lambda _messages, _model: Failure(status=400)
    if how == "stale":

        def refuse(_routing: Routing) -> None:
            raise StaleRouting("somebody wrote")

        monkeypatch.setattr(world.traffic, "write", refuse)
    with pytest.raises((ServerFailed, ServiceError, StaleRouting)):
        world.mover.promote("m2", reasons=())
    assert world.serving().name == "shop-a1"
    assert world.registry.aliases == {"champion": "a1"}
    assert world.keeper.held == {}
    assert world.mover.ledger.lines()[-1].phase == "undone"


def test_a_server_whose_promotion_was_killed_is_ended_by_the_next_call(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(_routing: Routing) -> None:
        held.update(world.keeper.held)
        world.keeper.held.clear()  # so that nothing that runs on the way out can end it
        raise Killed

    held: dict[str, Held] = {}
    with monkeypatch.context() as patched:
        patched.setattr(world.traffic, "write", die)
        patched.setattr(Held, "stop", lambda _self: None)
        with pytest.raises(Killed):
            world.mover.promote("m2", reasons=())
    world.keeper.held.update(held)
    assert world.mover.settle().phase == "undone"  # type: ignore[union-attr]
    assert world.keeper.held == {}


def test_a_trial_of_merged_weights_has_its_own_server_until_it_ends(world: World) -> None:
    world.mover.start_trial("m2", share=0.5, shadow=False, experiment="shop-1")
    (url,) = world.keeper.held
    routing = read_routing(world.path)
    assert routing is not None
    assert routing.challenger is not None
    assert routing.challenger.url == url
    world.mover.end_trial(reasons=("enough",))
    assert world.keeper.held == {}
    world.mover.start_trial("m2", share=0.5, shadow=False, experiment="shop-2")
    world.mover.promote("m2", reasons=("won",))
    assert world.keeper.started == ["shop-m2", "shop-m2"]  # promoted where its trial ran
    assert list(world.keeper.held) == [world.serving().url]


def test_an_adapter_after_merged_weights_gets_a_server_that_takes_adapters(world: World) -> None:
    world.mover.promote("m2", reasons=())
    world.mover.promote("a4", reasons=())
    assert (world.serving().model, world.keeper.started) == ("shop-a4", ["shop-m2", "shop-a4"])
    assert list(world.keeper.held) == [world.serving().url]
    world.mover.promote("a1", reasons=())  # onto the same server
    assert len(world.keeper.started) == 2


def test_without_a_way_to_start_servers_it_says_what_to_do(tmp_path: Path, world: World) -> None:
    probe = Routing(revision=1, champion=ServedVersion(name="probe", kind="probe"))
    with pytest.raises(InputError, match="KICKWHEEL_SERVER__URL"):
        ServedTraffic(tmp_path / "other.json").prepare(world.registry.version("a4"), probe)
