"""A version moves into service, in an order that a kill at any point cannot break.

1. the ledger: *begun*, with the evidence;
2. the version is loaded beside what is served (merged weights: on a server of their own), and asked: nothing has moved yet;
3. the routing: traffic moves;
4. the alias of the registry;
5. the ledger: *done*;
6. a model server of an earlier promotion that nothing is sent to any more is ended.

Killed before 3, nothing has moved: the next call writes *undone*. Killed after 3, users are answered by the new version: the
next call does what is left. So a call begins by looking for a move that has no end, and each step may be done twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kickwheel.errors import InputError, KickwheelError
from kickwheel.promotion.ledger import Ledger, before_champion
from kickwheel.promotion.ports import Aliases, Traffic
from schemas.promotion import Move, MoveKind, PromotableVersion
from schemas.serving import Routing


@dataclass(frozen=True)
class Mover:
    """Moves the versions of one domain. ``now`` gives ISO 8601 in UTC."""

    aliases: Aliases
    traffic: Traffic
    ledger: Ledger
    by: str
    now: Callable[[], str]

    def promote(
        self,
        version: str,
        *,
        reasons: tuple[str, ...],
        evidence: Mapping[str, float] | None = None,
        kind: MoveKind = "promote",
    ) -> Move:
        """Put a version in service in the champion's place; returns the last line of the ledger about it.

        A version that is champion already, in registry and routing, is left as it is. A trial that is under way ends: its
        challenger was compared with another champion.

        Raises:
            InputError: there is no such version.
            ServiceError, StaleRouting: it does not answer, or somebody else wrote; everything is as before.
        """
        with self.ledger.one_at_a_time():
            self._settle()
            target = self.aliases.version(version)
            before = self.aliases.alias("champion")
            moves = self.ledger.moves()
            if before == version:
                last = next((move for move in reversed(moves) if move.to_version == version), None)
                if last is not None and self._is_served(target):
                    return last
                before = before_champion(moves, version)  # the alias is there, the routing is not: it goes on from where it was
            begun = self._line(target, before, reasons, evidence or {}, kind).model_copy(update={"phase": "begun"})
            self.ledger.append(begun)
            return self._carry_out(begun, target)

    def rollback(self, *, to: str = "", reasons: tuple[str, ...] = ()) -> Move:
        """Bring back the champion before the present one, or ``to``.

        Raises:
            InputError: there was none before.
        """
        with self.ledger.one_at_a_time():
            self._settle()
            target = self.rollback_target(to)
        return self.promote(target, reasons=reasons or (f"rollback to version {target}",), kind="rollback")

    def rollback_target(self, to: str = "") -> str:
        """The version that :meth:`rollback` would bring back."""
        present = self.aliases.alias("champion")
        target = to or (before_champion(self.ledger.moves(), present) if present else None)
        if not target:
            raise InputError("there is no champion before this one in the ledger (kickwheel history): name a version with --to")
        if target == present:
            raise InputError(f"version {target} is the champion already", field="--to")
        return target

    def settle(self) -> Move | None:
        """Finish or undo a move that a kill left; returns its last line, None where there was none."""
        with self.ledger.one_at_a_time():
            return self._settle()

    def start_trial(self, version: str, *, share: float, shadow: bool, experiment: str, reasons: tuple[str, ...] = ()) -> Move:
        """Put a version on trial: load it, ask it, give it its share of units, or shadow traffic.

        Raises:
            InputError: nothing is served, or the version is the champion.
            ServiceError, StaleRouting: as :meth:`promote`.
        """
        with self.ledger.one_at_a_time():
            self._settle()
            routing = self.traffic.routing()
            if routing is None:
                raise InputError("nothing is served, so there is no traffic to try anything on: kickwheel serve DOMAIN first")
            target = self.aliases.version(version)
            if routing.champion.registry_version == version or self.aliases.alias("champion") == version:
                raise InputError(f"version {version} is the champion: a trial needs another one", field="--start")
            served = self.traffic.prepare(target, routing)
            after = Routing(
                revision=routing.revision + 1,
                champion=routing.champion,
                challenger=served,
                challenger_share=0.0 if shadow else share,
                shadow=shadow,
                experiment=experiment,
            )
            line = self._line(target, self.aliases.alias("challenger"), reasons, {}, "trial").model_copy(
                update={
                    "alias": "challenger",
                    "share": after.challenger_share,
                    "shadow": shadow,
                    "experiment": experiment,
                    "routing_revision": after.revision,
                }
            )
            self.ledger.append(line)  # before the first answer: a trial's exposures count from this line's time
            self.traffic.write(after)
            self.aliases.set_alias("challenger", version)
            return line

    def end_trial(self, *, reasons: tuple[str, ...]) -> Move | None:
        """Give all traffic back to the champion; None where no trial was running."""
        with self.ledger.one_at_a_time():
            self._settle()
            routing = self.traffic.routing()
            if routing is None or routing.challenger is None:
                return None
            line = Move(
                id=uuid.uuid4().hex,
                kind="end_trial",
                at=self.now(),
                by=self.by,
                alias="challenger",
                from_version=routing.challenger.registry_version or None,
                to_version=None,
                adapter=routing.challenger.name,
                reasons=reasons,
                experiment=routing.experiment,
                routing_revision=routing.revision + 1,
            )
            self.traffic.write(Routing(revision=routing.revision + 1, champion=routing.champion))
            self.ledger.append(line)
            self.traffic.tidy()
            return line

    def _settle(self) -> Move | None:
        begun = self.ledger.unfinished()
        if begun is None or begun.to_version is None:
            return None
        target = self.aliases.version(begun.to_version)
        routing = self.traffic.routing()
        if (routing is not None and _serves(routing, target)) or self.aliases.alias("champion") == target.version:
            return self._carry_out(begun, target)
        line = self._end(begun, "undone", "the call was killed before anything had moved")
        self.traffic.tidy()  # a server that was started for it
        return line

    def _carry_out(self, begun: Move, target: PromotableVersion) -> Move:
        """Steps 2 to 5. What was done before is not done again."""
        revision = None
        try:
            routing = self.traffic.routing()
            if routing is not None:
                revision = routing.revision
                if not _serves(routing, target):
                    revision = self.traffic.put_in_service(target, routing).revision
        except KickwheelError as error:
            self._end(begun, "undone", f"{type(error).__name__}: {error}")
            self.traffic.tidy()
            raise
        self.aliases.set_alias("champion", target.version)
        if self.aliases.alias("challenger") == target.version:
            self.aliases.set_alias("challenger", None)
        line = self._end(begun, "done", "", revision)
        self.traffic.tidy()
        return line

    def _end(self, begun: Move, phase: str, reason: str, revision: int | None = None) -> Move:
        reasons = (*begun.reasons, reason) if reason else begun.reasons
        line = Move.model_validate(
            {**begun.model_dump(), "phase": phase, "at": self.now(), "reasons": reasons, "routing_revision": revision}
        )
        self.ledger.append(line)
        return line

    def _is_served(self, target: PromotableVersion) -> bool:
        """Whether nothing else is: also where nothing is served at all."""
        routing = self.traffic.routing()
        return routing is None or _serves(routing, target)

    def _line(
        self,
        target: PromotableVersion,
        before: str | None,
        reasons: tuple[str, ...],
        evidence: Mapping[str, float],
        kind: MoveKind,
    ) -> Move:
        return Move(
            id=uuid.uuid4().hex,
            kind=kind,
            at=self.now(),
            by=self.by,
            from_version=before,
            to_version=target.version,
            adapter=target.name,
            run_id=target.run_id,
            reasons=reasons,
            evidence=dict(evidence),
        )


def _serves(routing: Routing, target: PromotableVersion) -> bool:
    """A routing that `kickwheel serve` began with names no version of the registry, but its champion by name."""
    return routing.champion.name == target.name and routing.champion.registry_version in ("", target.version)
