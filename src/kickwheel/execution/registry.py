"""Executors by action: those that ship, plug-ins found by entry point, and what a program registers itself."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from kickwheel.errors import TaskRefused
from kickwheel.execution.ports import Executor

GROUP = "kickwheel.executors"
"""Entry points of this group are executors: the name is the action's slug, the value a class that takes no argument."""
OWN = "kickwheel.execution."
"""Where the executors that ship lie. A plug-in for the same action takes their place."""


class ExecutorRegistry:
    """Executors by action slug. A plug-in is loaded when its action is first asked for, so one that fails breaks no other."""

    def __init__(self, points: Iterable[EntryPoint] | None = None):
        """``points``: default: those of the installed packages."""
        self._points: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=GROUP) if points is None else points:
            self._points.setdefault(point.name, []).append(point)
        self._executors: dict[str, Executor] = {}

    def register(self, action: str, executor: Executor) -> None:
        """Use this executor for an action, whatever is installed."""
        self._executors[action] = executor

    @property
    def actions(self) -> tuple[str, ...]:
        """Known actions, sorted; whether a plug-in loads is known when it is asked for."""
        return tuple(sorted(self._points.keys() | self._executors.keys()))

    def executor(self, action: str) -> Executor:
        """The action's executor.

        Raises:
            TaskRefused: there is none, or its plug-in can't be used; names the known actions, or the plug-in.
        """
        if action not in self._executors:
            self._executors[action] = _load(self._point(action))
        return self._executors[action]

    def _point(self, action: str) -> EntryPoint:
        points = self._points.get(action, [])
        if not points:
            known = ", ".join(self.actions) or "none (is kickwheel installed?)"
            raise TaskRefused(f"no executor for the action {action!r}; known actions: {known}")
        plugins = {point.value: point for point in points if not point.value.startswith(OWN)}
        if len(plugins) > 1:
            names = " and ".join(sorted(map(_name, plugins.values())))
            raise TaskRefused(f"more than one plug-in executes the action {action!r}: {names}; uninstall all but one")
        return next(iter(plugins.values())) if plugins else points[0]


def _load(point: EntryPoint) -> Executor:
    try:
        executor = point.load()()
    except Exception as error:  # whatever a stranger's package does must end as a message that names it
        raise TaskRefused(f"plug-in {_name(point)} does not load: {type(error).__name__}: {error}") from error
    if not isinstance(executor, Executor):
        raise TaskRefused(f"plug-in {_name(point)} is no executor: it needs check, plan and run (kickwheel.execution.ports)")
    return executor


def _name(point: EntryPoint) -> str:
    package = point.dist.name if point.dist else "unknown package"
    return f"{point.name} = {point.value} of {package}"
