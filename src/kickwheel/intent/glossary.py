"""Business words: what a team calls its actions, data and times. It changes without touching training."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from kickwheel.intent.normal_text import comparable, normalise
from kickwheel.yaml_document import read_yaml
from schemas.base import Slug

_TIME = r"([01]?\d|2[0-3]):([0-5]\d)"
_WINDOW = re.compile(rf"(?:(mon-fri|every day)\s+)?{_TIME}\s*-\s*{_TIME}")


def _time_meaning(text: str) -> str:
    if not re.fullmatch(_TIME, text) and not _WINDOW.fullmatch(text):
        raise ValueError("expected 'HH:MM', 'HH:MM-HH:MM' or 'mon-fri HH:MM-HH:MM', in quotes")
    return text


Words = tuple[Annotated[str, Field(min_length=1)], ...]
TimeMeaning = Annotated[str, AfterValidator(_time_meaning)]


@dataclass(frozen=True)
class Window:
    """Part of the day, both ends included, in minutes from midnight."""

    first: int
    last: int
    weekdays_only: bool = False


class GlossaryDocument(BaseModel):
    """``glossary.yaml``: slug -> words; ``time_words``: word -> time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    actions: dict[Slug, Words] = Field(default_factory=dict)
    entities: dict[Slug, Words] = Field(default_factory=dict)
    destinations: dict[Slug, Words] = Field(default_factory=dict)
    time_words: dict[str, TimeMeaning | None] = Field(default_factory=dict, description="None takes a base word away")

    @model_validator(mode="after")
    def _words_mean_one_thing(self) -> Self:
        for kind, group in (("actions", self.actions), ("entities", self.entities), ("destinations", self.destinations)):
            owner: dict[str, str] = {}
            for slug, words in group.items():
                for word in words:
                    other = owner.setdefault(comparable(word), slug)
                    if other != slug:
                        raise ValueError(f"{kind}: {word!r} stands under both {other} and {slug}")
        return self


@dataclass(frozen=True)
class Glossary:
    """Words by meaning. Keys of ``actions``, ``entities`` and ``destinations`` are words as written, values are slugs."""

    actions: dict[str, str]
    entities: dict[str, str]
    destinations: dict[str, str]
    time_words: dict[str, str]

    @cached_property
    def action_pattern(self) -> re.Pattern[str]:
        """Finds action words, English ones in every regular form; the match is looked up with :meth:`action_of`."""
        return _any_of(_action_forms(self.actions))

    @cached_property
    def entity_pattern(self) -> re.Pattern[str]:
        """Finds names of entities, as they are written."""
        return _any_of(self.entities)

    @cached_property
    def place_pattern(self) -> re.Pattern[str]:
        """Finds names of destinations, as they are written."""
        return _any_of(self.destinations)

    @cached_property
    def _action_by_form(self) -> dict[str, str]:
        return {form.lower(): slug for form, slug in _action_forms(self.actions).items()}

    @cached_property
    def action_forms(self) -> tuple[str, ...]:
        """Every form of every action word, lower case."""
        return tuple(sorted(self._action_by_form))

    @cached_property
    def own_words(self) -> frozenset[str]:
        """Words that entities and destinations are made of, lower case."""
        names = [*self.entities, *self.destinations]
        return frozenset(word for name in names for word in (name, *name.lower().split()))

    @cached_property
    def _entity_by_key(self) -> dict[str, str]:
        return {_noun_key(word): slug for word, slug in self.entities.items()}

    @cached_property
    def _destination_by_key(self) -> dict[str, str]:
        return {_noun_key(word): slug for word, slug in self.destinations.items()}

    @cached_property
    def action_slugs(self) -> tuple[str, ...]:
        """Known actions, sorted."""
        return tuple(sorted(set(self.actions.values())))

    def action_of(self, word: str) -> str:
        """Slug of a word that :attr:`action_pattern` found."""
        return self._action_by_form[word.lower()]

    def entity(self, phrase: str) -> str | None:
        """Slug of a phrase that is an entity's name, singular or plural; None: unknown."""
        return self._entity_by_key.get(_noun_key(phrase))

    def destination(self, phrase: str) -> str | None:
        """Slug of a phrase that is a destination's name; None: unknown."""
        return self._destination_by_key.get(_noun_key(phrase))

    def nearest(self, phrase: str, count: int = 3) -> tuple[str, ...]:
        """Known entities whose names look most like the phrase."""
        keys = difflib.get_close_matches(_noun_key(phrase), self._entity_by_key, n=2 * count, cutoff=0.3)
        return tuple(dict.fromkeys(self._entity_by_key[key] for key in keys))[:count]

    def time_meaning(self, word: str) -> int | Window | None:
        """What the domain means by a word: minutes from midnight, a window, or None: it does not say."""
        text = self.time_words.get(comparable(word))
        if text is None:
            return None
        window = _WINDOW.fullmatch(text)
        if window:
            days, *ends = window.groups()
            first_h, first_m, last_h, last_m = map(int, ends)
            return Window(first_h * 60 + first_m, last_h * 60 + last_m, days == "mon-fri")
        hour, minute = text.split(":")
        return int(hour) * 60 + int(minute)


def load_glossary(path: Path | None = None) -> Glossary:
    """The base words, with those of ``path`` laid on top.

    Raises:
        YamlProblems: the file does not hold.
    """
    base = _base()
    own = read_yaml(path, GlossaryDocument) if path else GlossaryDocument()
    times = {comparable(word): meaning for word, meaning in {**base.time_words, **own.time_words}.items()}
    return Glossary(
        actions=_overlaid(base.actions, own.actions),
        entities=_overlaid(base.entities, own.entities),
        destinations=_overlaid(base.destinations, own.destinations),
        time_words={word: meaning for word, meaning in times.items() if meaning is not None},
    )


@cache
def _base() -> GlossaryDocument:
    return read_yaml(Path(__file__).with_name("base_glossary.yaml"), GlossaryDocument)


def _overlaid(base: dict[str, Words], own: dict[str, Words]) -> dict[str, str]:
    """word -> slug; a word of the domain replaces the same word of the base, however it is spelled."""
    taken = {_noun_key(word) for words in own.values() for word in words}
    merged = {normalise(word): slug for slug, words in own.items() for word in words}
    for slug, words in base.items():
        merged |= {normalise(word): slug for word in words if _noun_key(word) not in taken}
    return merged


def _noun_key(phrase: str) -> str:
    """Comparable form; of an English phrase the last word is put in the singular."""
    words = normalise(phrase).lower().split()
    if words and words[-1].isascii():
        last = words[-1]
        if last.endswith("ies") and len(last) > 4:
            last = last[:-3] + "y"
        elif last.endswith("s") and not last.endswith("ss") and len(last) > 3:
            last = last[:-1]
        words[-1] = last
    return comparable("".join(words))


def _action_forms(actions: dict[str, str]) -> dict[str, str]:
    """Every regular form of every action word, the first owner keeps a form."""
    forms: dict[str, str] = {}
    for word, slug in actions.items():
        for form in _inflected(word):
            forms.setdefault(form, slug)
    return forms


_IRREGULAR = {"send": ("sent",), "get": ("got",), "write": ("wrote", "written"), "build": ("built",), "feed": ("fed",)}
_DOUBLED = re.compile(r"[^aeiou][aeiou][^aeiouwxy]")
"""Short verbs that double their last letter: ship, shipped; get, getting."""


def _inflected(word: str) -> tuple[str, ...]:
    if not word.isascii():
        return (word,)
    if word in _IRREGULAR:
        return (word, word + "s", *_IRREGULAR[word], (word[:-1] if word.endswith("e") else word) + "ing")
    if _DOUBLED.fullmatch(word[-3:]) and len(word) <= 4:
        return (word, word + "s", word + word[-1] + "ed", word + word[-1] + "ing")
    stem = word[:-1] if word.endswith("e") else word
    plural = word + "es" if word.endswith(("s", "x", "ch", "sh")) else word + "s"
    past = stem + "ed"
    if word.endswith("y") and word[-2] not in "aeiou":
        plural, past = word[:-1] + "ies", word[:-1] + "ied"
    return (word, plural, past, stem + "ing")


def _any_of(forms: Iterable[str]) -> re.Pattern[str]:
    """Finds forms, the longest first; English ones only as whole words.

    Alternatives are grouped by their first letter, and English ones tried at word starts only: a flat list of some hundred
    forms is tried one by one at each letter of a text.
    """
    ordered = sorted((form for form in forms if form), key=len, reverse=True)
    english = _by_first_letter([form.lower() for form in ordered if form.isascii()])
    others = _by_first_letter([form for form in ordered if not form.isascii()])
    patterns = [*([rf"(?<![A-Za-z0-9_])(?:{english})(?![A-Za-z0-9_])"] if english else []), *([others] if others else [])]
    return re.compile("|".join(patterns) or "(?!)", re.IGNORECASE | re.ASCII)


def _by_first_letter(forms: Iterable[str]) -> str:
    groups: dict[str, list[str]] = {}
    for form in forms:
        groups.setdefault(form[0], []).append(re.escape(form[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in groups.items())
