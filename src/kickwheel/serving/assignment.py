"""Who answers a unit while a challenger is on trial: sticky, without a table, and with the probability that it was so.

A unit's place is a hash of the experiment's name and the unit, uniform in [0, 1); places below ``challenger_share`` are the
challenger's. The same unit has the same place in every process and on every machine. A share that grows only moves units to the
challenger, one that shrinks only moves them back; another experiment deals the units anew.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from schemas.serving import Routing, ServedVersion

Arm = Literal["champion", "challenger"]


@dataclass(frozen=True)
class Assignment:
    """Who answers a unit, and with which probability it was this arm."""

    arm: Arm
    propensity: float
    unit: str
    experiment: str = ""
    """The trial that is under way; empty: none is."""


def unit_of(user: str | None, session: str | None, inference_id: str) -> str:
    """What is assigned as a whole: the user where one is known, else the session, else this one request.

    The kind is part of it: a user and a session of one name are two units.
    """
    if user:
        return f"user:{user}"
    if session:
        return f"session:{session}"
    return f"inference:{inference_id}"


def place_of(experiment: str, unit: str) -> float:
    """The unit's place in an experiment, uniform in [0, 1) with the 53 bits of a double."""
    salt = hashlib.sha256(experiment.encode()).digest()
    digest = hashlib.blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest()
    return (int.from_bytes(digest, "big") >> 11) * 2.0**-53


def assign(routing: Routing, unit: str) -> Assignment:
    """The arm of a unit. Without a trial everybody's is the champion, with probability 1."""
    share = routing.challenger_share if routing.challenger else 0.0
    experiment = routing.experiment if routing.challenger else ""
    if share and place_of(routing.experiment, unit) < share:
        return Assignment("challenger", share, unit, experiment)
    return Assignment("champion", 1.0 - share, unit, experiment)


def version_of(routing: Routing, arm: Arm) -> ServedVersion:
    """The version that an arm stands for.

    Raises:
        ValueError: there is no challenger.
    """
    if arm == "champion":
        return routing.champion
    if routing.challenger is None:
        raise ValueError(f"revision {routing.revision} of the routing has no challenger")
    return routing.challenger
