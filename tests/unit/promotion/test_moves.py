"""Versions in and out of service, and what a kill leaves at each step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from kickwheel.errors import InputError, ServiceUnavailable
from kickwheel.promotion.ledger import Ledger
from kickwheel.promotion.moves import Mover
from kickwheel.promotion.traffic_adapter import ServedTraffic
from kickwheel.serving.routing_adapter import read_routing, write_routing
from kickwheel.testing.model_server import FakeModelServer
from schemas.promotion import Move
from schemas.serving import Routing, ServedVersion
from tests.unit.promotion.fake_registry import FakeRegistry


class Killed(BaseException):
    """What kill -9 looks like from within: nothing catches it."""


class World:
    """A served domain whose champion is version 1, on a fake model server."""

    def __init__(self, folder: Path, server: FakeModelServer):
        self.registry = FakeRegistry(folder)
        self.path = folder / "serving" / "routing.json"
        self.ledger = Ledger(folder / "promotions.jsonl")
        self.server = server
        ticks = itertools.count()
        self.mover = Mover(
            self.registry, ServedTraffic(self.path), self.ledger, "ana", lambda: f"2026-01-01T00:00:{next(ticks):02d}+00:00"
        )
        server.adapters["shop-1"] = str(folder / "shop-1")
        champion = ServedVersion(name="shop-1", registry_version="1", kind="vllm", url=server.url, model="shop-1")
        write_routing(self.path, Routing(revision=1, champion=champion))
        self.registry.aliases["champion"] = "1"
        self.ledger.append(Move(at="2026-01-01", by="lap", from_version=None, to_version="1", adapter="shop-1"))

    def served(self) -> str:
        routing = read_routing(self.path)
        assert routing is not None
        return routing.champion.name

    def die_at(self, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The next promotion ends before (or after) a step, once."""
        owner, name = {
            "load": (self.mover.traffic, "prepare"),
            "route": (self.mover.traffic, "write"),
            "alias": (self.registry, "set_alias"),
            "done": (self.ledger, "append"),
        }[step.split("-")[1]]
        real = getattr(owner, name)
        calls = itertools.count()

        def stub(*arguments: object) -> object:
            if name == "append" and next(calls) == 0:
                return real(*arguments)  # the line that a move was begun
            monkeypatch.setattr(owner, name, real)
            if step.startswith("after"):
                real(*arguments)
            raise Killed

        monkeypatch.setattr(owner, name, stub)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FakeModelServer() as server:
        yield World(tmp_path, server)


def test_a_promotion_loads_asks_routes_moves_the_alias_and_is_written_down(world: World) -> None:
    move = world.mover.promote("2", reasons=("p = 0.001",), evidence={"p": 0.001})
    assert (move.phase, move.from_version, move.to_version, move.by) == ("done", "1", "2", "ana")
    assert move.evidence == {"p": 0.001}
    assert world.served() == "shop-2"
    assert world.registry.aliases == {"champion": "2"}
    assert [chat.body["model"] for chat in world.server.chats] == ["shop-2"]  # asked before traffic moved
    assert world.ledger.unfinished() is None
    assert [line.phase for line in world.ledger.lines()] == ["done", "begun", "done"]


def test_promoting_the_champion_again_changes_nothing(world: World) -> None:
    first = world.mover.promote("2", reasons=())
    assert world.mover.promote("2", reasons=()) == first
    assert read_routing(world.path).revision == 2  # type: ignore[union-attr]


def test_rollback_brings_back_what_served_before_and_walks_back_when_done_again(world: World) -> None:
    world.mover.promote("2", reasons=())
    world.mover.promote("3", reasons=())
    assert world.mover.rollback().to_version == "2"
    assert world.served() == "shop-2"
    assert world.mover.rollback().to_version == "1"
    assert (world.served(), world.registry.aliases["champion"]) == ("shop-1", "1")
    with pytest.raises(InputError, match="no champion before"):
        world.mover.rollback()
    assert world.mover.rollback(to="3").kind == "rollback"


@pytest.mark.parametrize(
    ("step", "phase", "served"),
    [
        ("before-load", "undone", "shop-1"),
        ("after-load", "undone", "shop-1"),
        ("before-route", "undone", "shop-1"),
        ("after-route", "done", "shop-2"),
        ("before-alias", "done", "shop-2"),
        ("after-alias", "done", "shop-2"),
        ("before-done", "done", "shop-2"),
        ("after-done", "done", "shop-2"),
    ],
)
def test_a_kill_at_any_step_is_finished_or_undone_by_the_next_call(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str, phase: str, served: str
) -> None:
    world.die_at(step, monkeypatch)
    with pytest.raises(Killed):
        world.mover.promote("2", reasons=("better",))
    world.mover.settle()
    assert world.ledger.unfinished() is None
    assert world.ledger.lines()[-1].phase == phase
    assert world.served() == served
    assert world.registry.aliases["champion"] == served[-1]
    assert len([line for line in world.ledger.lines() if line.phase == "done" and line.to_version == "2"]) == (phase == "done")
    assert world.mover.promote("3", reasons=()).from_version == served[-1]


def test_a_server_that_does_not_take_the_adapter_leaves_everything_as_it_was(world: World) -> None:
    world.server.lora = False
    with pytest.raises(Exception, match="takes no adapters at run time"):
        world.mover.promote("2", reasons=())
    assert world.served() == "shop-1"
    assert world.registry.aliases == {"champion": "1"}
    last = world.ledger.lines()[-1]
    assert last.phase == "undone"
    assert "RequestRefused" in last.reasons[-1]


def test_an_adapter_that_loads_and_does_not_answer_gets_no_traffic(world: World) -> None:
    from kickwheel.testing.model_server import Failure

    world.server.reply = lambda _messages, model: Failure(status=400) if model == "shop-2" else "{}"
    with pytest.raises(ServiceUnavailable, match="does not answer"):
        world.mover.promote("2", reasons=())
    assert world.served() == "shop-1"


def test_where_nothing_is_served_the_alias_moves_alone(tmp_path: Path) -> None:
    registry = FakeRegistry(tmp_path)
    mover = Mover(registry, ServedTraffic(tmp_path / "routing.json"), Ledger(tmp_path / "l.jsonl"), "ana", lambda: "2026-01-01")
    move = mover.promote("1", reasons=("first",))
    assert (registry.aliases["champion"], move.routing_revision) == ("1", None)


def test_an_unknown_version_begins_nothing(world: World) -> None:
    with pytest.raises(InputError, match="no version '9'"):
        world.mover.promote("9", reasons=())
    assert len(world.ledger.lines()) == 1


def test_a_trial_gives_its_share_to_a_challenger_that_answers_and_ends_in_one_call(world: World) -> None:
    world.mover.start_trial("2", share=0.25, shadow=False, experiment="shop-2-1")
    routing = read_routing(world.path)
    assert routing is not None
    assert routing.challenger is not None
    assert (routing.champion.name, routing.challenger.name, routing.challenger_share) == ("shop-1", "shop-2", 0.25)
    assert world.registry.aliases == {"champion": "1", "challenger": "2"}
    assert world.mover.end_trial(reasons=("enough",)).kind == "end_trial"  # type: ignore[union-attr]
    assert read_routing(world.path).challenger is None  # type: ignore[union-attr]
    assert world.mover.end_trial(reasons=()) is None


def test_the_challenger_that_is_promoted_ends_its_trial(world: World) -> None:
    world.mover.start_trial("2", share=0.5, shadow=False, experiment="shop-2-1")
    world.mover.promote("2", reasons=("won",))
    routing = read_routing(world.path)
    assert routing is not None
    assert (routing.champion.name, routing.challenger) == ("shop-2", None)
    assert world.registry.aliases == {"champion": "2"}


def test_the_champion_cannot_be_on_trial(world: World) -> None:
    with pytest.raises(InputError, match="is the champion"):
        world.mover.start_trial("1", share=0.5, shadow=False, experiment="x")
