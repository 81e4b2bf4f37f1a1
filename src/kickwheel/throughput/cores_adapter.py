"""Which CPU cores server and generator have, and what was done about it, in words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

FEW_CORES = 4
"""Up to so many, a server that computes on the CPU would lose a third or half of it with one core."""


@dataclass(frozen=True)
class CorePlan:
    """Cores by number; empty: left alone. ``said`` is for the report."""

    server: tuple[int, ...]
    generator: tuple[int, ...]
    said: str


def plan_cores(
    wanted: Literal["auto", "separate", "shared"], cores: tuple[int, ...], *, ours: bool, on_cpu: bool, local: bool
) -> CorePlan:
    """How the cores are shared out.

    Args:
        wanted: the setting.
        cores: those that this process may use.
        ours: whether we start the server, and so can say where it runs.
        on_cpu: whether it computes on the CPU.
        local: whether it is on this machine.
    """
    if not local:
        return CorePlan((), (), "the server is on another machine")
    if len(cores) < 2:
        return CorePlan((), (), "server and generator share the one core there is")
    if wanted == "shared":
        return CorePlan((), (), f"server and generator share {len(cores)} cores, as the setting says")
    if wanted == "auto" and on_cpu and len(cores) <= FEW_CORES:
        return CorePlan(
            (), (), f"server and generator share {len(cores)} cores: the server computes on them and would lose one of them"
        )
    generator, server = cores[-1:], cores[:-1]
    numbers = ", ".join(map(str, server))
    if ours:
        return CorePlan(server, generator, f"the generator has core {generator[0]}, the server {numbers}")
    return CorePlan(
        (), generator, f"the generator has core {generator[0]}; the server is not ours: keep it on {numbers} by taskset"
    )


def own_cores() -> tuple[int, ...]:
    """Numbers of the cores that this process may use; empty where the system does not tell."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


@contextmanager
def only_on(cores: tuple[int, ...]) -> Iterator[None]:
    """This process, and what it starts in the block, has only these cores; none named: all as before."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
