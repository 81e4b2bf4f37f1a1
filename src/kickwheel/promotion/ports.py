"""What a move needs of the registry and of what answers users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from schemas.promotion import PromotableVersion
from schemas.serving import Routing, ServedVersion

if TYPE_CHECKING:
    from kickwheel.inference.switch_adapter import Stoppable

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

    def put_in_service(self, version: PromotableVersion, routing: Routing) -> Routing:
        """Give a version all traffic in the place of ``routing``'s champion, once it answers; returns the new routing.

        Raises:
            ServiceError, StaleRouting: as :meth:`prepare` and :meth:`write`; nothing was moved.
        """
        ...

    def tidy(self) -> None:
        """End model servers that promotions started and that no traffic goes to any more, after what they have begun."""
        ...

    def write(self, routing: Routing) -> None:
        """Make a routing the one in service, durably.

        Raises:
            StaleRouting: somebody wrote in between.
        """
        ...


class ServerKeeper(Protocol):
    """Model servers that promotions start: they outlive the call, and are found again after a kill."""

    def start(self, version: PromotableVersion) -> Stoppable:
        """A server for a version, warm; the one that runs for it already, if one does.

        Raises:
            ServerNotInstalled, ServerFailed: it did not come up; nothing is left running.
        """
        ...

    def running(self) -> dict[str, Stoppable]:
        """Those that run, by address."""
        ...
