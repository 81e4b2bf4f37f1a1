"""The rules recogniser: offline, deterministic, Chinese and English.

It maps a statement only if every word of it is explained: words of time, an action, what it acts on, where to, and a
closed set of phrases that change nothing. Anything else is refused with a question: a miss, but never a wrong task.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kickwheel.intent.clauses import Clause, blank, read_clauses, visible, without_reason
from kickwheel.intent.glossary import Glossary
from kickwheel.intent.normal_text import normalise, unspaced
from kickwheel.intent.phrases import (
    TIME_MARK,
    Named,
    Objects,
    clean,
    compares_two,
    named_destinations,
    named_things,
    read_objects,
    shown,
)
from kickwheel.intent.ports import Recognised, Refused
from kickwheel.intent.rewordings import rewordings
from kickwheel.intent.spelling import respelled
from kickwheel.intent.statement_words import (
    ARROW,
    ASKED_PASSIVELY,
    ASPECT,
    BULLET,
    CALENDAR,
    DENIED_EN,
    DENIED_ZH,
    DESCRIBES,
    EN_BEFORE,
    EN_CAUSATIVE,
    EN_PASSIVE,
    FROM_NOW_ON,
    GREETING,
    LABELLED,
    LIMITS,
    MOVES,
    ONCE,
    OTHER_VERBS,
    POLITE_END,
    POLITE_QUESTION,
    PREFACE,
    PRONOUN,
    REMARK,
    RUNS,
    STORE,
    STORE_WORDS,
    STORY,
    TAKEN_BACK,
    TIME_LIKE,
    WERE,
    WITH_PLACE,
    ZH_AGAINST,
    ZH_BEFORE,
    ZH_PASSIVE,
)
from kickwheel.intent.suspicion import LONGEST, not_read
from kickwheel.intent.time_reading import TimeReading, read_time, time_tokens, with_days_of
from kickwheel.intent.time_refused import TimeRefused
from kickwheel.intent.time_tokens import DataPeriod, InZone, Token, Unclear
from kickwheel.intent.triples import triple

_ADDING = {"enrich"}
"""Actions whose words may be followed by what is added: 为用户画像补充兴趣标签."""
_CIRCLED = re.compile(r"^\s*[\u2460-\u249b]\s*")
"""A circled number before a list item; normalising would make it a figure."""
_RUNS_BEHIND = re.compile(rf"\s*(?:{RUNS.pattern})$", RUNS.flags)
_NOT_EXPLAINED = ("not_a_task", "unknown_target", "unknown_action", "ambiguous_time")
"""Reasons for which a statement is read once more without the parts around it."""
_BLOT = "\u25a1"
"""Stands for each letter of a name that words of time are not looked for in."""
_SAY = "Say it as 'sync ORDERS to LAKE every day at 9:00'"


def _without_preface(text: str) -> str:
    """'It would be great if the invoices were archived' asks that they are archived."""
    preface = PREFACE.match(text)
    if preface is None:
        return text
    rest = text[preface.end() :]
    return WERE.sub("are", rest, count=1) if re.search(r"\bif\b", preface.group(), re.IGNORECASE) else rest


def _synced(moves: re.Match[str]) -> str:
    """'Sync' in the form of a word of moving."""
    word = moves.group().lower()
    return "同步" if not word.isascii() else "synced" if word.endswith("ed") else "sync"


def _moved_to_store(match: re.Match[str]) -> str:
    place, rest = {"湖": "数据湖", "仓": "数仓"}[match["store"]], match["rest"]
    if rest.lstrip()[:1] in ("到", "至"):
        return f"同步{rest}"
    if not clean(rest) or RUNS.fullmatch(clean(rest)) or TIME_LIKE.search(rest):
        return f"同步到{place}{rest}"
    return f"同步{rest}到{place}"


def _masked(text: str, names: Sequence[tuple[int, int]]) -> str:
    """The text with names of data blotted out, so that no word of time is found in them, or goes on into them."""
    letters = list(text)
    for start, end in names:
        letters[start:end] = _BLOT * (end - start)
    return "".join(letters)


def _tells_time(name: str, glossary: Glossary) -> bool:
    """Whether a name holds words of time, as 'till receipts' does; one that is nothing else stays what it says."""
    tokens = time_tokens(name, glossary)
    whole = [token for token in tokens if token.end - token.start == len(name)]
    return bool(tokens) and all(isinstance(token.meaning, Unclear) for token in whole)


@dataclass(frozen=True)
class RulesRecogniser:
    """See the module. ``seconds_first``: six-field cron expressions are taken, with the seconds first."""

    glossary: Glossary
    seconds_first: bool = False

    def prepare(self, texts: Sequence[str]) -> None:
        """Nothing to prepare."""

    def recognise(self, text: str) -> list[Recognised | Refused]:
        """Triples or refusals of one statement."""
        found = self._recognised(text)
        if not all(isinstance(outcome, Refused) for outcome in found):
            return found
        about = self._about(normalise(text)[:LONGEST])
        return [replace(outcome, about=about) for outcome in found if isinstance(outcome, Refused)]

    def _about(self, text: str) -> frozenset[tuple[str, str]]:
        """Every action in the text with every entity in it."""
        actions = {self.glossary.action_of(match.group()) for match in self.glossary.action_pattern.finditer(text)}
        entities = {self.glossary.entity(match.group()) for match in self.glossary.entity_pattern.finditer(text)}
        return frozenset((action, entity) for action in actions for entity in entities if entity)

    def _recognised(self, text: str) -> list[Recognised | Refused]:
        text = FROM_NOW_ON.sub("", GREETING.sub("", unspaced(normalise(_CIRCLED.sub("", text)))))
        if unreadable := not_read(text):
            return [unreadable]
        polite = bool(POLITE_QUESTION.search(text) or PREFACE.match(text))
        if text.endswith(("?", "吗")) and not polite:
            return [Refused("not_a_task", "This is a question: which task does it ask for?")]
        text, slips = respelled(BULLET.sub("", POLITE_END.sub("", text)), self.glossary.action_forms, self.glossary.own_words)
        if not STORE_WORDS & self.glossary.actions.keys():
            text = STORE.sub(_moved_to_store, ONCE.sub("一次", text))
        text = ASKED_PASSIVELY.sub(r"\g<np> should \g<be> ", text)
        text = _without_preface(STORY.sub("", LABELLED.sub("", text)))
        found = self._read(text, slips)
        if not any(isinstance(outcome, Refused) and outcome.reason in _NOT_EXPLAINED for outcome in found):
            return found
        for reworded, unread in rewordings(text, self.glossary):
            again = self._read(reworded, slips)
            tasks = [outcome for outcome in again if isinstance(outcome, Recognised) and outcome.target]
            if len(tasks) == len(again):
                return [replace(task, flag=f"not read: {'; '.join(unread)}" if unread else None) for task in tasks]
        return found

    def _read(self, text: str, slips: tuple[str, ...]) -> list[Recognised | Refused]:
        """Triples or refusals of a text without what introduces or ends it."""
        if not ARROW.search(text):
            return self._moved(text, slips) or self._outcomes(text, slips)
        text = ARROW.sub(" to ", text)
        if self.glossary.action_pattern.search(text):
            return self._outcomes(text, slips)
        found = self._outcomes(f"sync {text}", slips)  # an arrow between known data and a known place moves the data there
        if all(isinstance(outcome, Recognised) and outcome.target for outcome in found):
            return found
        return [Refused("unknown_action", f"What does the arrow stand for? {_SAY}")]

    def _moved(self, text: str, slips: tuple[str, ...]) -> list[Recognised | Refused]:
        """Tasks of a statement whose only verb is such as 更新 or 'push', where known data reaches a known place; else none."""
        if self.glossary.action_pattern.search(text):
            return []
        moved = self._in_place.sub("to ", self._bare_moves.sub("同步到", text))
        if moved.isascii() or moved == text:
            if not MOVES.search(moved):
                return []
            moved = MOVES.sub(_synced, moved, count=1)
        found = self._outcomes(moved, slips)
        places = tuple(f"_{place}" for place in set(self.glossary.destinations.values()))
        return found if all(isinstance(task, Recognised) and (task.target or "").endswith(places) for task in found) else []

    @cached_property
    def _in_place(self) -> re.Pattern[str]:
        """Finds the 'in' of 'refresh prices in the warehouse': before a known place."""
        places = sorted((re.escape(name) for name in self.glossary.destinations if name.isascii()), key=len, reverse=True)
        found = rf"\b(?:in|on)\s+(?=(?:the\s+|our\s+)?(?:{'|'.join(places)})\b)" if places else r"(?!)"
        return re.compile(found, re.IGNORECASE | re.ASCII)

    @cached_property
    def _bare_moves(self) -> re.Pattern[str]:
        """Finds the 入 of 入风控集市: a verb of moving right before a known place."""
        places = sorted((re.escape(name) for name in self.glossary.destinations), key=len, reverse=True)
        found = "|".join(places)
        pattern = rf"(?:接|汇|引|流)?(?<![收加输录写注存载导灌推传落进])[入进落写](?=(?:{found}))" if places else r"(?!)"
        return re.compile(pattern, re.IGNORECASE)

    @cached_property
    def _deceptive_names(self) -> re.Pattern[str] | None:
        """Finds names of data and places with a word of time or of action in them: 'audit logs', 'the weekly ranking'."""
        names = {
            name
            for name in (*self.glossary.entities, *self.glossary.destinations)
            if self.glossary.action_pattern.search(name) or _tells_time(name, self.glossary)
        }
        found = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        return re.compile(found, re.IGNORECASE | re.ASCII) if names else None

    def _outcomes(self, text: str, slips: tuple[str, ...]) -> list[Recognised | Refused]:
        names = [match.span() for match in self._deceptive_names.finditer(text)] if self._deceptive_names else []
        timed = _masked(text, names)
        tokens = [replace(token, text=text[token.start : token.end]) for token in time_tokens(timed, self.glossary)]
        blanked = without_reason(blank(text, tokens), self.glossary)
        clauses = read_clauses(blanked, self.glossary, names) or read_clauses(blanked, self.glossary, ())
        if not clauses:
            return [self._no_action(text, blanked, tokens)]
        try:
            times = self._times(timed, tokens, clauses)
        except TimeRefused as refused:
            return [Refused(refused.reason, str(refused))]
        outcomes: list[Recognised | Refused] = []
        read = [
            read_objects(ASPECT.sub(" ", clause.after) if clause.action == "validate" else clause.after, self.glossary)
            for clause in clauses
        ]
        earlier: tuple[Named, ...] = ()
        for index, (clause, time) in enumerate(zip(clauses, times, strict=True)):
            following = next((objects for objects in read[index:] if objects.things), read[index])
            objects = read[index] if read[index].things or clean(clause.after) or clean(clause.before) else following
            noted = replace(time, notes=(*time.notes, *slips)) if slips else time
            found, earlier = self._triples(clause, objects, noted, text, earlier)
            outcomes += found
        return outcomes

    def _no_action(self, text: str, blanked: str, tokens: Sequence[Token]) -> Refused:
        timed = any(not isinstance(token.meaning, DataPeriod | InZone) for token in tokens)
        described = bool(DESCRIBES.search(text))
        if (timed and clean(blanked) and not described) or OTHER_VERBS.match(text):
            known = ", ".join(self.glossary.action_slugs)
            return Refused("unknown_action", f"What is to be done? Known actions: {known}")
        return Refused("not_a_task", "Which task does this ask for? Say what to do with which data, and when")

    def _times(self, text: str, tokens: Sequence[Token], clauses: Sequence[Clause]) -> list[TimeReading]:
        """The time of each clause: its own, or the one that the statement names for all."""
        own = [[token for token in tokens if clause.start <= token.start < clause.end] for clause in clauses]
        timed = [any(not isinstance(token.meaning, DataPeriod | InZone) for token in found) for found in own]
        if len(clauses) == 1 or sum(timed) <= 1:
            reading = read_time(text, tokens, self.glossary, seconds_first=self.seconds_first)
            return [reading] * len(clauses)
        if not all(timed):
            raise TimeRefused("Which of the tasks runs at which time?")
        for index in range(1, len(own)):
            own[index] = with_days_of(own[index - 1], own[index])
        zones = [token for token in tokens if isinstance(token.meaning, InZone)]
        found_with_zone = [[*found, *(zone for zone in zones if zone not in found)] for found in own]
        return [read_time(text, found, self.glossary, seconds_first=self.seconds_first) for found in found_with_zone]

    def _triples(
        self, clause: Clause, objects: Objects, time: TimeReading, text: str, earlier: tuple[Named, ...]
    ) -> tuple[list[Recognised | Refused], tuple[Named, ...]]:
        """Outcomes of a clause, and what it acts on; ``earlier``: what the clause before acts on."""
        before = self._before(clause)
        if isinstance(before, Refused):
            return [before], ()
        places = objects.destinations or before.destinations or self._partner(clause, objects)
        things = objects.things
        if before.things and len(things) == 1 and not things[0].slug and not places:
            reached = named_destinations(things[0].phrase, self.glossary)
            things, places = ((), reached) if reached[0].slug else (things, places)
        if len(things) == 1 and not things[0].slug and (runs := _RUNS_BEHIND.search(things[0].phrase)):
            bare = named_things(things[0].phrase[: runs.start()], self.glossary)
            things = bare if bare and all(thing.slug for thing in bare) else things
        if len(things) == 1 and PRONOUN.fullmatch(things[0].phrase):
            things = ()
        named = {thing.slug for thing in things if thing.slug}
        differs = before.things and named and named != {thing.slug for thing in before.things}
        if differs and (clause.action not in _ADDING or clause.before.isascii()):
            return [Refused("not_a_task", f"Which data is meant, {before.things[0].phrase!r} or {things[0].phrase!r}?")], ()
        if not any(thing.slug for thing in things) and (any(thing.slug for thing in before.things) or not things):
            told = " ".join(thing.phrase for thing in things)
            if told and clause.action not in _ADDING and not RUNS.fullmatch(visible(told)):
                return [Refused("not_a_task", f"What does {shown(told)!r} mean for the task? {_SAY}")], ()
            things = before.things or earlier
        if not things:
            return [Refused("unknown_target", f"Which data does {clause.action!r} act on?")], ()
        if clause.action == "validate" and len(things) > 1 and compares_two(clause.after):
            return [Refused("unknown_target", "Is each of them to be checked, or one against the other?")], things
        if problem := self._unexplained(clause.action, things, objects):
            return [Refused("not_a_task", f"What does {shown(problem)!r} mean for the task? {_SAY}")], things
        found = [
            triple(clause.action, thing, place, time, self.glossary, text) for thing in things for place in places or (None,)
        ]
        return found, things

    def _partner(self, clause: Clause, objects: Objects) -> tuple[Named, ...]:
        """'Sync leads with the CRM': the place that they are kept in step with."""
        partner = re.match(r"with\s+(.+)", visible(objects.rest), re.IGNORECASE | re.ASCII) if clause.action == "sync" else None
        reached = named_destinations(partner[1], self.glossary) if partner else ()
        return reached if all(place.slug for place in reached) else ()

    def _unexplained(self, action: str, things: Sequence[Named], objects: Objects) -> str | None:
        """The first part of a clause that may say something about the task and is not understood."""
        destination, remark = next(iter(objects.destinations), None), visible(objects.remark)
        if destination and not destination.slug and re.search(r"[和及与、并]|\band\b", destination.phrase, re.ASCII):
            return destination.phrase
        if destination and re.match(r"(?:to|into|onto)\b", objects.rest):
            return objects.rest
        bound = LIMITS.search(objects.rest)
        if bound and not (action == "validate" and bound.group().lower() in ("or", "或")):  # faults may be listed so
            return bound.group()
        if (stopped := TAKEN_BACK.search(f"{objects.rest} {remark}")) or (stopped := CALENDAR.search(objects.rest)):
            return stopped.group()
        if re.search(r"\w", remark) and (not REMARK.fullmatch(remark) or TIME_LIKE.search(remark)):
            return remark
        unknown = [thing.phrase for thing in things if not thing.slug]
        for phrase in unknown:
            if self.glossary.action_pattern.search(phrase) or OTHER_VERBS.match(phrase) or (len(things) > 1 and "的" in phrase):
                return phrase
        return next((visible(text) for text in [*unknown, objects.rest] if TIME_MARK in text or TIME_LIKE.search(text)), None)

    def _before(self, clause: Clause) -> Objects | Refused:
        """What the words before an action name; a refusal where they say something else."""
        words = visible(clause.before)
        filler = EN_BEFORE.match(words)
        rest = words[filler.end() :] if filler else words
        if not rest:
            return Objects((), (), "", "")
        chinese = ZH_BEFORE.fullmatch(words)
        said = words.replace(chinese["np"], " ") if chinese and chinese["np"] else rest
        if DENIED_EN.search(said) or (chinese and DENIED_ZH.search(said)):
            return Refused("not_a_task", f"Is the task wanted at all? {words!r} stands before it. {_SAY}")
        if chinese:
            named = () if PRONOUN.fullmatch(chinese["np"] or "") else named_things(chinese["np"] or "", self.glossary)
            return Objects(named, (), "", "")
        done = clause.word.lower().endswith(("ed", "sent"))
        passives = [
            EN_PASSIVE.fullmatch(f"{rest} "),
            ZH_PASSIVE.fullmatch(words),
            EN_CAUSATIVE.fullmatch(rest) if done else None,
            ZH_AGAINST.fullmatch(words) if clause.action == "validate" else None,
        ]
        for phrase in [*(found["np"] for found in passives if found), rest]:
            named = named_things(phrase, self.glossary)
            if named and all(thing.slug for thing in named):
                return Objects(named, (), "", "")
            placed = WITH_PLACE.fullmatch(phrase)
            if placed:
                named, places = named_things(placed["np"], self.glossary), named_destinations(placed["place"], self.glossary)
                if named and all(thing.slug for thing in (*named, *places)):
                    return Objects(named, places, "", "")
        return Refused("not_a_task", f"What does {shown(words)!r} mean for the task? {_SAY}")
