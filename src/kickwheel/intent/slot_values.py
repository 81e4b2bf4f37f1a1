"""Which values a slot takes: the ones of its enum, and those that its pattern matches as a whole. Width never matters."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from schemas.task import SlotSpec

BrokenRule = Literal["value_not_allowed", "pattern"]


def broken_rule(value: str, spec: SlotSpec) -> BrokenRule | None:
    """The rule of a slot that a value breaks; None: it fits.

    An enum's values are compared without case. A pattern says itself what it thinks of case: ``(?i)``.
    """
    if spec.type == "enum" and spec.values and plain(value) not in {plain(allowed) for allowed in spec.values}:
        return "value_not_allowed"
    if spec.pattern and not re.fullmatch(spec.pattern, unicodedata.normalize("NFKC", value)):
        return "pattern"
    return None


def told(value: str, spec: SlotSpec) -> str | None:
    """The rule that a value breaks, in words; None: it fits."""
    match broken_rule(value, spec):
        case "value_not_allowed":
            return f"slot {spec.name!r}: {value!r} is none of its values: {', '.join(spec.values)}"
        case "pattern":
            return f"slot {spec.name!r}: {value!r} does not match its pattern {spec.pattern}"
    return None


def plain(value: str) -> str:
    """A value without case and width: equal where an enum takes them for the same."""
    return unicodedata.normalize("NFKC", value).casefold().strip()
