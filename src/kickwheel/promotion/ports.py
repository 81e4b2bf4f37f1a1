"""What a move needs of the registry and of what answers users."""

from __future__ import annotations

from typing import Literal, Protocol

from schemas.promotion import PromotableVersion
from schemas.serving import Routing, ServedVersion

Alias = Literal["champion", "challenger"]


class Aliases(Protocol):
    """The model registry."""

    def alias(self, name: Alias) -> str | None:
        """Version under an alias; None: there is none."""
        ...

    def set_alias(self, name: Alias, version: str | None) -> None:
        """Move an alias; None takes it away. Moving it to where it is changes nothing."""
        ...

    def version(self, version: str) -> PromotableVersion:
        """A version, its weights on this machine.

        Raises:
            InputError: there is no such version.
        """
        ...


class Traffic(Protocol):
    """What answers users."""

    def routing(self) -> Routing | None:
        """The routing in service; None: nothing is."""
        ...

    def prepare(self, version: PromotableVersion, routing: Routing) -> ServedVersion:
        """Make a version answer, without any traffic: load it, ask it, return how it is reached.

        Raises:
            ServiceError: the server does not take it, or it does not answer.
        """
        ...

    def write(self, routing: Routing) -> None:
        """Make a routing the one in service, durably.

        Raises:
            StaleRouting: somebody wrote in between.
        """
        ...
