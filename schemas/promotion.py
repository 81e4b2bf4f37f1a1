"""The ledger of moves: who put which version in service, when, in whose place, and on what evidence."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, FolderRef

MoveKind = Literal["promote", "rollback", "trial", "end_trial"]
VersionKind = Literal["adapter", "merged", "encoder"]
MovePhase = Literal["begun", "done", "undone"]


class Move(Contract):
    """One line of the append-only ledger. A move has two: what was begun, and how it ended."""

    id: str = Field(default="", description="The same in both lines of a move")
    phase: MovePhase = Field(default="done", description="begun; done: it is in service; undone: nothing has moved")
    kind: MoveKind = Field(default="promote", description="What was done")
    at: str = Field(description="ISO 8601, UTC")
    by: str = Field(description="Who did it")
    alias: Literal["champion", "challenger"] = Field(default="champion", description="Alias of the registry that moves")
    from_version: str | None = Field(description="Version in the registry before; None: there was none")
    to_version: str | None = Field(description="Version in the registry after; None: none")
    adapter: str = Field(default="", description="Served name of what moves in")
    run_id: str = Field(default="", description="MLflow run that it comes from")
    reasons: tuple[str, ...] = Field(default=(), description="The evidence, in words")
    evidence: dict[str, float] = Field(default_factory=dict, description="The evidence, in figures")
    routing_revision: int | None = Field(default=None, description="Revision of the routing; None: nothing is being served")
    share: float = Field(default=0.0, ge=0, le=1, description="Of a trial: share of units that the challenger answers")
    shadow: bool = Field(default=False, description="Of a trial: the challenger is asked, and nobody sees its answers")
    experiment: str = Field(default="", description="Of a trial: its name")


class PromotableVersion(Contract):
    """A version in the registry that can be put in service."""

    version: str = Field(description="Its number in the registry")
    name: str = Field(description="Name under which it is served")
    folder: FolderRef
    kind: VersionKind = Field(
        default="adapter",
        description="How it is served: an adapter on a running model server; merged into its base, on a server of its own; "
        "an encoder, in the API's processes",
    )
    run_id: str = Field(default="", description="MLflow run that it comes from")
    gate: str = Field(default="", description="The gate's verdict with its reasons; empty: it never stood before the gate")

    @property
    def gated(self) -> bool:
        """Whether the gate let it through."""
        return self.gate.startswith("promote")


class Standing(Contract):
    """What is in service, and how it came to be: `kickwheel history --json`."""

    schema_version: Literal["1"] = "1"
    domain: str = Field(description="Its name")
    champion: str | None = Field(description="Version under the alias champion")
    challenger: str | None = Field(description="Version under the alias challenger")
    serving: str | None = Field(description="Name of the version that the routing has as champion; None: nothing is served")
    routing_revision: int | None = Field(description="Revision of the routing")
    moves: tuple[Move, ...] = Field(description="Oldest first")
    unfinished: Move | None = Field(default=None, description="A move that was begun and neither finished nor undone")
