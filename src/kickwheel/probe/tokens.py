"""Tokens with code-point spans, and what a token looks like to the slot tagger. Needs no word list of a language's own.

A Latin, Cyrillic, … word is a token, hyphened codes (``SG-TEE-BLK``, ``2026-02-28``) are one; each Han character is a token
of its own, since Chinese has no blanks to trust. Normal forms serve as features only: spans always count the code points of
the text as it was given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

HAN = "\u3400-\u9fff"
_TOKEN = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:[-_.][^\W_{HAN}]+)*|[^\s\w]|_")
_WORD = re.compile(rf"[{HAN}]|[^\W\d_{HAN}]+|\d+")

_CALENDAR_WORDS = """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec today yesterday tomorrow tonight overnight now
    morning afternoon evening night noon midnight minute minutes min mins hour hours hr hrs day days
    week weeks weekend month months quarter quarters year years last this next past previous since until
    before after ago daily weekly monthly q1 q2 q3 q4
"""
_CALENDAR_SIGNS = "年月日号天周昨今明前后晚早午夜时点分季度半初末底近上下"
_CALENDAR = frozenset(_CALENDAR_WORDS.split()) | frozenset(_CALENDAR_SIGNS)


@dataclass(frozen=True)
class Token:
    """A token, its normal form, and its span in code points."""

    normal: str
    shape: str
    start: int
    end: int

    @property
    def is_calendar(self) -> bool:
        """Whether the token is a word of dates and times."""
        return self.normal in _CALENDAR


def normal_form(text: str) -> str:
    """NFKC and lower case, for features only: it may change the length."""
    return unicodedata.normalize("NFKC", text).lower()


def tokenize(text: str) -> list[Token]:
    """Tokens in text order; blanks belong to none."""
    return [Token(normal_form(m.group()), _shape(m.group()), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def words(text: str) -> list[str]:
    """Words, numbers and single Han characters of a normal form, for bags of words."""
    return _WORD.findall(text) or [text]


def _shape(token: str) -> str:
    """What kind of writing a token is: digits by number, code, capitals, capitalised, letters, Han, sign."""
    if token.isdigit():
        return "9" * min(len(token), 4)
    if any(char.isdigit() for char in token):
        return "a9"
    if token.isupper() and len(token) > 1:
        return "AA"
    if token[:1].isupper():
        return "Aa"
    return "a" if token[:1].isalpha() else "."


def token_features(tokens: Sequence[Token], i: int, intent: str, rarity: Sequence[int]) -> list[str]:
    """Features of token ``i``: itself, its neighbours up to two away, all of it again together with the intent.

    Args:
        rarity: how common each token is in the texts at hand, one small number a token.
    """

    def word(j: int) -> str:
        return tokens[j].normal if 0 <= j < len(tokens) else "<s>" if j < 0 else "</s>"

    def shape(j: int) -> str:
        return tokens[j].shape if 0 <= j < len(tokens) else "-"

    def date(j: int) -> str:
        return "01"[0 <= j < len(tokens) and tokens[j].is_calendar]

    def rare(j: int) -> str:
        return str(rarity[j]) if 0 <= j < len(tokens) else "-"

    here = word(i)
    own = [f"w={here}", f"s={shape(i)}", f"in={intent}", f"first={i == 0}", f"cal={date(i)}", f"df={rare(i)}"]
    own += [f"p{k}={here[:k]}" for k in (2, 3, 4)] + [f"x{k}={here[-k:]}" for k in (2, 3)]
    around = [f"{d}={word(i + d)}" for d in (-2, -1, 1, 2)]
    around += [f"l={word(i - 1)} {here}", f"r={here} {word(i + 1)}", f"ls={word(i - 1)} {shape(i)}"]
    around += [
        f"sss={shape(i - 1)}{shape(i)}{shape(i + 1)}",
        f"ddd={rare(i - 1)}{rare(i)}{rare(i + 1)}",
        f"ds={rare(i)}{shape(i)}",
    ]
    around += [f"ccc={date(i - 1)}{date(i)}{date(i + 1)}", f"cccs={date(i - 2)}{date(i - 1)}{date(i)}{date(i + 1)}{shape(i)}"]
    joined = [f"{intent} {x}" for x in (here, f"-1={word(i - 1)}", shape(i), f"df={rare(i)}", f"cal={date(i)}")]
    return own + around + joined
