"""Semantic versions of tasks and of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.registry import ChangeKind, Level

FIRST = "1.0.0"

LEVELS: dict[ChangeKind, Level] = {
    "intent_removed": "major",
    "intent_renamed": "major",
    "task_replaced": "major",
    "slot_removed": "major",
    "slot_type_changed": "major",
    "values_narrowed": "major",
    "pattern_changed": "major",
    "task_added": "minor",
    "target_found": "minor",
    "slot_added": "minor",
    "values_widened": "minor",
    "pattern_dropped": "minor",
    "schedule_changed": "minor",
    "flag_raised": "minor",
    "flag_cleared": "minor",
    "wording_changed": "patch",
    "phrasings_changed": "patch",
    "slot_wording_changed": "patch",
}
"""What each change does to a version; docs/registry.md has the table with its reasons.

Major: a label that was right may be wrong now. Minor: labels stay right, and there is more, or at another time, than before.
Patch: words.
"""

_ORDER: tuple[Level, ...] = ("patch", "minor", "major")


def highest(levels: Iterable[Level]) -> Level | None:
    """The highest of some levels; None: there is none."""
    return max(levels, key=_ORDER.index, default=None)


def bumped(version: str, level: Level) -> str:
    """The next version: what stands behind the raised figure starts at 0 again."""
    major, minor, patch = map(int, version.split("."))
    match level:
        case "major":
            return f"{major + 1}.0.0"
        case "minor":
            return f"{major}.{minor + 1}.0"
        case "patch":
            return f"{major}.{minor}.{patch + 1}"
