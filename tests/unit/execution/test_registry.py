"""Executors by action: those that ship are declared, plug-ins win, a broken one is named and breaks no other."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kickwheel.errors import TaskRefused
from kickwheel.execution.enrich import EnrichExecutor
from kickwheel.execution.ports import Executor
from kickwheel.execution.registry import GROUP, ExecutorRegistry
from kickwheel.execution.sync import SyncExecutor


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=GROUP)


SYNC = point("sync", "kickwheel.execution.sync:SyncExecutor")


def test_the_four_that_ship_are_declared_and_load(root: Path) -> None:
    declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][GROUP]
    registry = ExecutorRegistry(point(*item) for item in declared.items())
    assert registry.actions == ("enrich", "fetch", "sync", "validate")
    assert all(isinstance(registry.executor(action), Executor) for action in registry.actions)


def test_an_unknown_action_is_told_with_the_known_ones() -> None:
    registry = ExecutorRegistry([SYNC])
    registry.register("archive", EnrichExecutor())
    with pytest.raises(TaskRefused, match="no executor for the action 'export'; known actions: archive, sync"):
        registry.executor("export")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("no_such_package:Thing", "plug-in export = no_such_package:Thing of unknown package does not load: ModuleNotFound"),
        ("json:JSONDecoder", "plug-in export = json:JSONDecoder of unknown package is no executor"),
        ("json:JSONDecodeError", "does not load: TypeError"),
    ],
)
def test_a_plug_in_that_fails_is_named_and_breaks_no_other(value: str, told: str) -> None:
    registry = ExecutorRegistry([point("export", value), SYNC])
    with pytest.raises(TaskRefused, match=told):
        registry.executor("export")
    assert isinstance(registry.executor("sync"), SyncExecutor)


def test_a_plug_in_takes_the_place_of_ours_and_two_are_refused() -> None:
    # any class with the three methods, from outside kickwheel.execution, will do
    theirs = point("sync", "tests.unit.execution.plugin:LoudSync")
    assert type(ExecutorRegistry([SYNC, theirs]).executor("sync")).__name__ == "LoudSync"
    other = point("sync", "elsewhere:Sync")
    with pytest.raises(TaskRefused, match=r"more than one plug-in executes the action 'sync': .*elsewhere.*LoudSync"):
        ExecutorRegistry([SYNC, theirs, other]).executor("sync")


def test_what_a_program_registers_wins() -> None:
    registry = ExecutorRegistry([SYNC])
    own = EnrichExecutor()
    registry.register("sync", own)
    assert registry.executor("sync") is own
