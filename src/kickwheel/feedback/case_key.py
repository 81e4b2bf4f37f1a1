"""Which texts are one case: what users typed differently but said alike.

Width (NFKC), case, white space and punctuation at the ends do not tell texts apart (white paper F3). Signals about equal texts
are evidence for one label, so that several users can agree. Frames are bound to their own text by offsets: :func:`anchored`
moves one to another spelling of the case.
"""

from __future__ import annotations

import hashlib
import unicodedata

from schemas.frame import Frame


def normal_text(text: str) -> str:
    """The text as the key sees it."""
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(" .,;:!?。，；：！？、…") or words


def case_key(text: str) -> str:
    """32 hexadecimal digits, equal for equal normal texts."""
    return hashlib.sha256(normal_text(text).encode()).hexdigest()[:32]


def anchored(frame: Frame, other: str) -> Frame | None:
    """``frame`` with its slots in the spelling ``other``; None where a value does not stand there as it is."""
    if all(other[slot.start : slot.end] == slot.value for slot in frame.slots):
        return frame
    try:
        return Frame.from_values(other, frame.intent, frame.values)
    except ValueError:
        return None
