"""Offsets of texts in the units of other programs: JavaScript and its strings count UTF-16 units, we count code points."""

from __future__ import annotations


def utf16_length(text: str) -> int:
    """Length in UTF-16 units: 2 for each code point beyond the basic plane (emoji), else 1."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def from_utf16(text: str, offset: int) -> int | None:
    """The code point at a UTF-16 offset; None: it lies outside the text or in the middle of a character."""
    at = 0
    for index, char in enumerate(text):
        if at == offset:
            return index
        at += 1 if ord(char) < 0x10000 else 2
    return len(text) if at == offset else None
