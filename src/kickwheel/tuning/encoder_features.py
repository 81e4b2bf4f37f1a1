"""What an encoder student sees of a text beside the encoder's own vectors, and the tags that it is to write.

Tokens are the probe's (:mod:`kickwheel.probe.tokens`): a word, a code, or a single Han character, with code-point spans. The
encoder's word pieces are pooled into them by their offsets: any tokenizer fits, and no span is ever that of a word piece.
Lexical features are hashed: they need no vocabulary, and carry the languages that an encoder cannot read.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kickwheel.probe.slot_tagger import OUTSIDE, tags_of
from kickwheel.probe.tokens import Token, token_features, tokenize
from schemas.frame import Frame
from schemas.utterance import Utterance

BUCKETS = 2**16
"""Rows of the table of hashed token features; the example's 300 rows have some 40,000 different ones."""

_MOST_COMMON = 5


@dataclass(frozen=True)
class Labels:
    """Columns of both heads."""

    intents: tuple[str, ...]
    tags: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Utterance]) -> Labels:
        """The intents and slots that labelled rows have, in alphabetical order."""
        frames = [row.frame for row in rows if row.frame]
        names = sorted({slot.name for frame in frames for slot in frame.slots})
        return cls(
            tuple(sorted({frame.intent for frame in frames})),
            (OUTSIDE, *(f"{part}-{name}" for name in names for part in "BI")),
        )


def tag_columns(tokens: Sequence[Token], frame: Frame, labels: Labels) -> list[int]:
    """Column of each token's tag."""
    return [labels.tags.index(tag) for tag in tags_of(tokens, frame.slots)]


def allowed_tags(slots: Sequence[str], labels: Labels) -> list[bool]:
    """Which tags a frame of these slots may have."""
    return [tag == OUTSIDE or tag[2:] in slots for tag in labels.tags]


def common_words(texts: Sequence[str]) -> dict[str, int]:
    """How common each word is: binary logarithm of the texts that hold it, at most 5. Those in one text only are left out."""
    counts = Counter(word for text in texts for word in {token.normal for token in tokenize(text)})
    return {word: min(_MOST_COMMON, int(math.log2(1 + count))) for word, count in sorted(counts.items()) if count > 1}


def hashed_features(tokens: Sequence[Token], intent: str, common: Mapping[str, int]) -> list[list[int]]:
    """Hashed features of each token, given the intent of its text; see :func:`kickwheel.probe.tokens.token_features`."""
    rarity = [common.get(token.normal, 1) for token in tokens]
    return [[_bucket(name) for name in token_features(tokens, i, intent, rarity)] for i in range(len(tokens))]


def pieces_of(tokens: Sequence[Token], offsets: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Word pieces that each token overlaps, by code points; a token beyond what the encoder read has none.

    Args:
        offsets: (first code point, one past the last) of each piece; (0, 0) for special tokens.
    """
    return [[k for k, (start, end) in enumerate(offsets) if start < token.end and token.start < end] for token in tokens]


@lru_cache(maxsize=200_000)
def _bucket(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little") % BUCKETS
