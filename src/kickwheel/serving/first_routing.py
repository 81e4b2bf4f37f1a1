"""The routing that a start of the service leads to. Decisions only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.serving import Routing, ServedVersion


@dataclass(frozen=True)
class Choice:
    """What is to be served, and what has to be done for it."""

    standing: Routing | None
    champion: ServedVersion
    told: str
    """In words."""
    adapters: tuple[ServedVersion, ...] = ()
    """Versions to load on a model server before anything is served."""
    base: str = ""
    """Base model of that server."""
    url: str = ""
    """That server; empty: start one."""


def replaced(standing: Routing | None, moved: Mapping[str, ServedVersion], champion: ServedVersion) -> Routing:
    """The standing routing with this champion, and with versions that moved to another server; itself if that changes nothing.

    A trial goes on: its units keep their arms.
    """
    if standing is None:
        return Routing(revision=1, champion=champion)
    challenger = standing.challenger and moved.get(standing.challenger.name, standing.challenger)
    wanted = standing.model_copy(update={"champion": champion, "challenger": challenger})
    return standing if wanted == standing else wanted.model_copy(update={"revision": standing.revision + 1})
