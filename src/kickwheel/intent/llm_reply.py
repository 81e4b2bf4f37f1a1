"""A model's reply, held against the statement that it is about: what doesn't hold is a typed error, and never used.

Words must be copied from the statement. Of the time only the place is the model's: which words of time belong to which task;
what they mean is read by the same reader as always, and none of them may be left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from kickwheel.inference.ports import ChatReply
from kickwheel.intent.glossary import Glossary
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.phrases import named_destination, named_things
from kickwheel.intent.ports import Recognised, Refused
from kickwheel.intent.statement_words import CONDITION, OTHER_VERBS, TIME_LIKE
from kickwheel.intent.time_reading import read_time, time_tokens
from kickwheel.intent.time_refused import TimeRefused
from kickwheel.intent.time_tokens import DataPeriod, InZone, Loose, Token
from kickwheel.intent.triples import triple

ReplyProblem = Literal[
    "empty", "truncated", "malformed", "wrong_shape", "unknown_action", "action_contradicted", "words_not_in_statement",
    "no_such_data", "time_left_out", "time_not_understood", "refused",
]  # fmt: skip
"""``refused``: there is no reply, since the endpoint does not take the request (a statement too long for its context …)."""
_FENCE = re.compile(r"^\s*```(?:json)?\s*(.*?)\s*```\s*$", re.DOTALL)
_BETWEEN = re.compile(
    r"(?:[\s,、:()的在于到至和及与以按照从起~-]|时间|开始|准时|\b(?:and|at|on|in|by|of|from|to|the|time|sharp|between|until)\b)*",
    re.IGNORECASE | re.ASCII,
)
"""What may stand between words of time without saying anything."""
_OTHER_INFORMATION = DataPeriod | InZone | Loose
"""Words of time that name no time of the task's own."""


class ReplyRefused(Exception):
    """A reply that can't be used; the message tells the model why."""

    def __init__(self, kind: ReplyProblem, problem: str = "") -> None:
        super().__init__(problem)
        self.kind: ReplyProblem = kind


@dataclass(frozen=True)
class ReadTriple:
    """A triple that holds, and the words that it was read from."""

    triple: Recognised
    time_words: tuple[str, ...]
    """Of the task's time and zone, in text order."""
    destination: str


class _Task(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    action_words: Annotated[str, StringConstraints(min_length=1)]
    action: str
    entity_words: Annotated[str, StringConstraints(min_length=1)]
    destination_words: str
    time_words: list[str]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    tasks: list[_Task]


def read_reply(
    statement: str, reply: ChatReply, glossary: Glossary, *, seconds_first: bool = False
) -> tuple[ReadTriple | Refused, ...]:
    """Triples of a normalised statement, none where the model finds no task; a refusal where its words name no schedule.

    Raises:
        ReplyRefused: the reply can't be used.
    """
    return _Reader(statement, glossary, seconds_first).read(_parse(reply))


def _parse(reply: ChatReply) -> list[_Task]:
    if reply.finish_reason == "length":
        raise ReplyRefused("truncated")
    if not reply.text.strip():
        raise ReplyRefused("empty")
    fenced = _FENCE.match(reply.text)
    try:
        data = json.loads(fenced[1] if fenced else reply.text)
    except (json.JSONDecodeError, RecursionError):
        raise ReplyRefused("malformed") from None
    try:
        return _Reply.model_validate(data).tasks
    except ValidationError:
        raise ReplyRefused("wrong_shape") from None


class _Reader:
    def __init__(self, statement: str, glossary: Glossary, seconds_first: bool) -> None:
        self._text = statement
        self._glossary = glossary
        self._seconds_first = seconds_first
        self._tokens = time_tokens(statement, glossary)
        self._zones = [token for token in self._tokens if isinstance(token.meaning, InZone)]
        self._loose = [token for token in self._tokens if isinstance(token.meaning, Loose)]
        self._timed = [token for token in self._tokens if not isinstance(token.meaning, _OTHER_INFORMATION)]

    def read(self, tasks: Sequence[_Task]) -> tuple[ReadTriple | Refused, ...]:
        own = [self._time_of(task) for task in tasks]
        for task in tasks:
            self._check_action(task)
            for words in (task.action_words, task.entity_words, task.destination_words):
                self._places(words)
        if tasks:
            self._check_nothing_left_out(own)
            if any(own) and not all(own):
                return (Refused("ambiguous_time", "Which of the tasks runs at which time?"),)
            if unsaid := self._unsaid(tasks):
                return (unsaid,)
        found = [result for task, tokens in zip(tasks, own, strict=True) for result in self._triples(task, tokens)]
        return tuple(dict.fromkeys(found))

    def _places(self, words: str) -> list[tuple[int, int]]:
        """Where the words stand in the statement; nowhere for no words.

        Raises:
            ReplyRefused: they don't.
        """
        words = normalise(words)
        places = [(found.start(), found.end()) for found in re.finditer(re.escape(words), self._text)] if words else []
        if words and not places:
            raise ReplyRefused("words_not_in_statement", f"{words!r} does not stand in the statement")
        return places

    def _check_action(self, task: _Task) -> None:
        if task.action not in self._glossary.action_slugs:
            known = ", ".join(self._glossary.action_slugs)
            raise ReplyRefused("unknown_action", f"{task.action!r} is no known action; known are {known}")
        words = normalise(task.action_words)
        meant = {self._glossary.action_of(found.group()) for found in self._glossary.action_pattern.finditer(words)}
        if meant and task.action not in meant:
            raise ReplyRefused("action_contradicted", f"{words!r} means {' or '.join(sorted(meant))}, not {task.action}")
        if not meant and OTHER_VERBS.match(words):
            raise ReplyRefused("action_contradicted", f"{words!r} means none of the known actions")

    def _time_of(self, task: _Task) -> list[Token]:
        """The tokens that a task's words of time cover, wholly."""
        places = [place for words in task.time_words for place in self._places(words)]
        for start, end in places:
            inside = [token for token in self._tokens if start <= token.start and token.end <= end]
            left = list(self._text[start:end])
            for token in inside:
                left[token.start - start : token.end - start] = " " * (token.end - token.start)
            if not inside or not _BETWEEN.fullmatch("".join(left)):
                said = self._text[start:end]
                raise ReplyRefused("time_not_understood", f"{said!r} has words that are not understood as words of time")
        return [token for token in self._timed if any(start <= token.start and token.end <= end for start, end in places)]

    def _check_nothing_left_out(self, own: Sequence[Sequence[Token]]) -> None:
        covered = [token for tokens in own for token in tokens]
        for token in self._timed:
            if token not in covered:
                raise ReplyRefused("time_left_out", f"{token.text.strip()!r} is in no task's time_words")

    def _unsaid(self, tasks: Sequence[_Task]) -> Refused | None:
        """A refusal where the statement has a condition, or words of time that are not read: no triple says those."""
        left = list(self._text)
        words = [word for task in tasks for word in (task.action_words, task.entity_words, task.destination_words)]
        places = [place for word in words for place in self._places(word)]
        for start, end in [*places, *((token.start, token.end) for token in self._tokens)]:
            left[start:end] = "\n" * (end - start)
        text = "".join(left)
        if condition := CONDITION.search(text):
            return Refused("not_a_task", f"What does {condition.group()!r} mean for the task? A task has no conditions")
        if time := TIME_LIKE.search(text):
            return Refused("ambiguous_time", f"When exactly is {time.group().strip()!r}?")
        return None

    def _triples(self, task: _Task, tokens: Sequence[Token]) -> list[ReadTriple | Refused]:
        things = named_things(normalise(task.entity_words), self._glossary)
        if not things:
            raise ReplyRefused("no_such_data", f"{task.entity_words!r} names no data")
        told = sorted({*tokens, *self._zones}, key=lambda token: token.start)
        try:
            time = read_time(self._text, [*told, *self._loose], self._glossary, seconds_first=self._seconds_first)
        except TimeRefused as refused:
            return [Refused(refused.reason, str(refused))]
        words = normalise(task.destination_words)
        destination = named_destination(words, self._glossary) if words else None
        found: list[ReadTriple | Refused] = []
        for thing in things:
            made = triple(task.action, thing, destination, time, self._glossary, self._text)
            if isinstance(made, Refused):
                found.append(made)
            else:
                made = replace(made, by="llm", confidence=None)
                found.append(
                    ReadTriple(made, tuple(token.text.strip() for token in told), destination.phrase if destination else "")
                )
        return found
