"""Where a sentence ends."""

from __future__ import annotations

import re

_ENDS = re.compile(r"[。！？；!?;]+|(?<!\bno)(?<!\be\.g)(?<!\bi\.e)(?<!\b[ap]\.m)(?<!\bapprox)\.(?=\s|$)", re.IGNORECASE)
_TRIM = " \t\n　,，、。;；."


def split_sentences(text: str) -> list[tuple[int, str]]:
    """Offset and text of each sentence as it stands there; question marks kept, other ends and surrounding space cut off."""
    found: list[tuple[int, str]] = []
    start = 0
    for match in [*_ENDS.finditer(text), None]:
        end = match.start() if match else len(text)
        sentence = text[start:end].strip(_TRIM)
        if sentence:
            offset = text.index(sentence, start)
            asks = match is not None and match.group()[0] in "?？"
            found.append((offset, text[offset : offset + len(sentence) + asks]))
        start = match.end() if match else end
    return found
