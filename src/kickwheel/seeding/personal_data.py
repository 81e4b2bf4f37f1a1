"""Personal data in texts: emails, phones, Chinese identity numbers, payment cards, IP addresses. Found, counted, masked if
wanted.

Numbers that carry a checksum count only if it holds, so that order numbers are let be. A mask keeps length and form (letters
become ``x``, digits ``0``), so that spans stay where they are and a masked text masks to itself.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from schemas.frame import Frame, Slot
from schemas.utterance import Utterance


@dataclass(frozen=True)
class Finding:
    """One occurrence, by code points."""

    kind: str
    start: int
    end: int


def personal_data(text: str) -> list[Finding]:
    """What a text holds, in text order, without overlaps. Full-width characters count as their plain forms."""
    plain = "".join(_one(char) for char in text)
    found: list[Finding] = []
    for kind, pattern, holds in _KINDS:
        for match in pattern.finditer(plain):
            free = all(match.end() <= other.start or other.end <= match.start() for other in found)
            if free and not _is_mask(match.group()) and holds(match.group()):
                found.append(Finding(kind, match.start(), match.end()))
    return sorted(found, key=lambda finding: finding.start)


def masked(row: Utterance) -> Utterance:
    """The row without its personal data; slots have the masked values."""
    chars = list(row.text)
    for finding in personal_data(row.text):
        for place in range(finding.start, finding.end):
            char = _one(chars[place])
            chars[place] = "0" if char.isdigit() else "x" if char.isalpha() else chars[place]
    text = "".join(chars)
    if text == row.text:
        return row
    frame = row.frame
    if frame is not None:
        slots = tuple(Slot(name=s.name, value=text[s.start : s.end], start=s.start, end=s.end) for s in frame.slots)
        frame = Frame(intent=frame.intent, slots=slots)
    return Utterance(id=row.id, text=text, language=row.language, frame=frame, provenance=row.provenance)


def _is_identity_number(text: str) -> bool:
    """GB 11643: a date of birth that exists, and the check character of ISO 7064 MOD 11-2."""
    try:
        date(int(text[6:10]), int(text[10:12]), int(text[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * (2 ** (17 - place) % 11) for place, digit in enumerate(text[:17]))
    return "10X98765432"[total % 11] == text[17].upper()


def _is_card(text: str) -> bool:
    """Luhn, 13 to 19 digits, of an issuer's first digit, not one digit over and over."""
    digits = [int(char) for char in text if char.isdigit()]
    total = sum(digits[-1::-2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return 13 <= len(digits) <= 19 and 2 <= digits[0] <= 6 and total % 10 == 0 and len(set(digits)) > 1


def _is_phone(text: str) -> bool:
    return 8 <= sum(char.isdigit() for char in text) <= 15


def _is_address(text: str) -> bool:
    """One that may be somebody's: not of this machine, not 0.0.0.0."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (found.is_loopback or found.is_unspecified)


def _always(_: str) -> bool:
    return True


_KINDS: Sequence[tuple[str, re.Pattern[str], Callable[[str], bool]]] = (
    ("email", re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"), _always),
    ("id_number", re.compile(r"(?<![0-9A-Za-z])\d{17}[0-9Xx](?![0-9A-Za-z])", re.ASCII), _is_identity_number),
    ("ip", re.compile(r"(?<![0-9.])\d{1,3}(?:\.\d{1,3}){3}(?![0-9]|\.[0-9])", re.ASCII), _is_address),
    ("ip", re.compile(r"(?<![0-9A-Za-z:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![0-9A-Za-z:])"), _is_address),
    ("card", re.compile(r"(?<![0-9])\d(?:[ -]?\d){12,18}(?![0-9])", re.ASCII), _is_card),
    ("phone", re.compile(r"(?<![0-9])(?:\+?86[ -]?)?1[3-9]\d(?:[ -]?\d{4}){2}(?![0-9])", re.ASCII), _always),
    ("phone", re.compile(r"(?<![0-9+])\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,5}(?![0-9])", re.ASCII), _is_phone),
    ("phone", re.compile(r"(?<![0-9])0\d{2,3}-\d{7,8}(?![0-9])", re.ASCII), _always),
    ("phone", re.compile(r"(?<![0-9])\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}(?![0-9])", re.ASCII), _always),
)


def _is_mask(text: str) -> bool:
    return all(char in "0x" for char in text if char.isalnum())


def _one(char: str) -> str:
    """The plain form of a character where it is one character too: offsets must not move."""
    plain = unicodedata.normalize("NFKC", char)
    return plain if len(plain) == 1 else char
