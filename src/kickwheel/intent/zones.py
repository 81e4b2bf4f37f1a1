"""Time zones: IANA names only, and never the host's."""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

AMBIGUOUS = {
    "CST": "China (Asia/Shanghai), US Central (America/Chicago) or Cuba (America/Havana)",
    "IST": "India (Asia/Kolkata), Israel (Asia/Jerusalem) or Ireland (Europe/Dublin)",
    "BST": "Britain (Europe/London) or Bangladesh (Asia/Dhaka)",
    "AST": "Atlantic (America/Halifax) or Arabia (Asia/Riyadh)",
    "EST": "New York with its daylight saving time (America/New_York) or fixed UTC-5 (Etc/GMT+5)",
    "EDT": "New York all year round (America/New_York) or fixed UTC-4 (Etc/GMT+4)",
    "MST": "Denver with its daylight saving time (America/Denver) or Phoenix without (America/Phoenix)",
    "PST": "Los Angeles with its daylight saving time (America/Los_Angeles) or fixed UTC-8 (Etc/GMT+8)",
    "PDT": "Los Angeles all year round (America/Los_Angeles) or fixed UTC-7 (Etc/GMT+7)",
    "CDT": "US Central (America/Chicago), Cuba (America/Havana) or fixed UTC-5 (Etc/GMT+5)",
    "CET": "Central Europe with its daylight saving time (Europe/Berlin) or fixed UTC+1 (Etc/GMT-1)",
    "CEST": "Central Europe all year round (Europe/Berlin) or fixed UTC+2 (Etc/GMT-2)",
    "EET": "Eastern Europe with its daylight saving time (Europe/Athens) or fixed UTC+2 (Etc/GMT-2)",
    "WET": "Western Europe with its daylight saving time (Europe/Lisbon) or fixed UTC+0 (UTC)",
}
"""Abbreviations that mean several zones, with what they may mean."""


@cache
def known_zones() -> frozenset[str]:
    """IANA names that are taken: ``Area/City`` forms and UTC. Relics such as ``EST`` or ``PRC`` hide what they mean."""
    return frozenset(name for name in available_timezones() if "/" in name and not name.startswith("posix")) | {"UTC"}


def zone_problem(name: str) -> str | None:
    """Why a name is no zone, or None if it is one."""
    if name in known_zones():
        return None
    if name.upper() in AMBIGUOUS:
        return f"{name!r} is ambiguous: {AMBIGUOUS[name.upper()]}"
    return f"{name!r} is no IANA zone: write e.g. Asia/Shanghai, Europe/Berlin or UTC"


def zone(name: str) -> ZoneInfo:
    """The zone of an IANA name.

    Raises:
        ValueError: see :func:`zone_problem`.
    """
    problem = zone_problem(name)
    if problem:
        raise ValueError(problem)
    return ZoneInfo(name)
