"""Spellings of one request: the key that they share (white paper F3), and slots carried from one spelling to another.

The response cache gives one answer to all spellings of a request, and feedback counts them as one case, so that several users
can agree. Two texts share a key if they differ in width (NFKC), case, white space, or punctuation that only ends or groups
words. What may carry meaning stays in the key: a sign between letters or digits (``1.5``, ``2026-01-02``, ``a_b``), and every
sign that is not plain punctuation (``-5``, ``50%``, ``#3``, emoji). So sharing a key is meant to be rarer than being the same
request.

Slots are code points of the text as it was sent, so a spelling with another length needs its own: each character of the normal
form remembers which code points it came from.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from schemas.frame import Frame, Slot

_PUNCTUATION = frozenset(".,!?;:\"'`()[]{}…。、·「」『』《》〈〉【】〔〕“”‘’«»~")
"""After NFKC, which turns ！？，；：（） into their ASCII forms."""


@dataclass(frozen=True)
class NormalText:
    """A text's normal form; character ``i`` of ``key`` came from code points ``starts[i]:ends[i]`` of the text."""

    text: str
    key: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @cached_property
    def by_start(self) -> dict[int, int]:
        """First code point -> first character of the key that came from it."""
        found: dict[int, int] = {}
        for index, start in enumerate(self.starts):
            found.setdefault(start, index)
        return found

    @cached_property
    def by_end(self) -> dict[int, int]:
        """One past the last code point -> last character of the key that came from it."""
        return {end: index for index, end in enumerate(self.ends)}


@lru_cache(maxsize=256)
def normal_text(text: str) -> NormalText:
    """The normal form. Two texts are spellings of one request if their keys are equal."""
    if text.isascii():  # what the rest would come to, without a look at each character
        pieces = [(" " if char.isspace() else char, index, index + 1) for index, char in enumerate(text.lower())]
    else:
        pieces = [(char, start, end) for start, end in _clusters(text) for char in _folded(text[start:end])]
    kept = [piece for index, piece in enumerate(pieces) if not _is_loose(pieces, index)]
    if not any(char != " " for char, _, _ in kept):  # nothing but punctuation: ？ is not the same as ！！
        kept = pieces
    closed = [piece for index, piece in enumerate(kept) if not _is_idle_space(kept, index)]
    return NormalText(
        text, "".join(char for char, _, _ in closed), tuple(start for _, start, _ in closed), tuple(end for _, _, end in closed)
    )


def case_key(text: str) -> str:
    """32 hexadecimal digits, the same for spellings of one request."""
    return hashlib.sha256(normal_text(text).key.encode()).hexdigest()[:32]


def placed(frame: Frame, text: str, spelling: str) -> Frame | None:
    """A frame that somebody gave for ``text``, in another spelling of it.

    None where a slot's value does not stand in the text, or its place in the spelling cannot be told.
    """
    if any(text[slot.start : slot.end] != slot.value for slot in frame.slots):
        found = _by_values(frame, text)
        if found is None:
            return None
        frame = found
    if text == spelling or not frame.slots:
        return frame
    source, target = normal_text(text), normal_text(spelling)
    return (carried(frame, source, target) or _by_values(frame, spelling)) if source.key == target.key else None


def _by_values(frame: Frame, text: str) -> Frame | None:
    try:
        return Frame.from_values(text, frame.intent, frame.values)
    except ValueError:
        return None


def carried(frame: Frame, source: NormalText, target: NormalText) -> Frame | None:
    """The frame of ``source`` with its slots where they stand in ``target``, another spelling with the same key.

    None where that cannot be told: a slot begins or ends inside what the normal form leaves out or merges.
    """
    if source.text == target.text:
        return frame
    slots: list[Slot] = []
    for slot in frame.slots:
        first, last = source.by_start.get(slot.start), source.by_end.get(slot.end)
        if first is None or last is None or last < first:
            return None
        start, end = target.starts[first], target.ends[last]
        # A piece of a character that NFKC takes apart (㍿) is no place to begin or end.
        if target.by_start[start] != first or target.by_end[end] != last:
            return None
        slots.append(Slot(name=slot.name, value=target.text[start:end], start=start, end=end))
    return Frame(intent=frame.intent, slots=tuple(slots))


def _clusters(text: str) -> list[tuple[int, int]]:
    """Spans of a character with the marks that combine with it, which NFKC may make one of."""
    starts = [index for index, char in enumerate(text) if index == 0 or not unicodedata.combining(char)]
    return list(pairwise([*starts, len(text)]))


def _folded(cluster: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold())
    return " " if folded.isspace() else folded


def _is_loose(pieces: Sequence[tuple[str, int, int]], index: int) -> bool:
    """Punctuation that does not stand between two letters or digits of a script with blanks."""
    if pieces[index][0] not in _PUNCTUATION:
        return False
    before = pieces[index - 1][0] if index else ""
    after = pieces[index + 1][0] if index + 1 < len(pieces) else ""
    return not (_is_of_a_word(before) and _is_of_a_word(after))


def _is_of_a_word(char: str) -> bool:
    return char.isalnum() and not _has_no_blanks(char)


def _is_idle_space(pieces: Sequence[tuple[str, int, int]], index: int) -> bool:
    """White space at the ends, after other white space, or beside a character of a script that needs none."""
    if pieces[index][0] != " ":
        return False
    before = pieces[index - 1][0] if index else " "
    following = index + 1
    while following < len(pieces) and pieces[following][0] == " ":
        following += 1
    after = pieces[following][0] if following < len(pieces) else " "
    return before == " " or after == " " or _has_no_blanks(before) or _has_no_blanks(after)


def _has_no_blanks(char: str) -> bool:
    return "\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003ffff"
