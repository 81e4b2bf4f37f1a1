"""A model that reads statements wrongly and plausibly: replies of the right shape, mostly with words that do stand there.

It is what the hybrid recogniser must withstand, not a model of any model: other actions, swapped entities, times cut short,
invented or given to the wrong task, tasks where there are none. The same seed and requests give the same replies.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kickwheel.inference.ports import ChatRequest
from kickwheel.intent.glossary import Glossary
from kickwheel.intent.llm_prompt import STATEMENT_HEADING
from kickwheel.intent.time_reading import time_tokens

_INVENTED = ("每天凌晨3点", "every day at 3:00", "0 3 * * *", "每小时")
_WORD = re.compile(r"[A-Za-z][\w-]*|[\u4e00-\u9fff]{2}")


def asked_statement(request: ChatRequest) -> str:
    """The statement that a request of :class:`~kickwheel.intent.llm_prompt.LlmPrompt` asks about."""
    questions = [message.content for message in request.messages if STATEMENT_HEADING in message.content]
    statement: str = json.loads(questions[-1].rpartition("\n")[2])
    return statement


@dataclass(frozen=True)
class NonsenseReader:
    """A script for :class:`~kickwheel.testing.scripted_teacher.ScriptedTeacher`."""

    glossary: Glossary
    seed: int

    def __call__(self, request: ChatRequest) -> str:
        """A reply about the request's statement."""
        statement = asked_statement(request)
        rng = random.Random(f"{self.seed}/{len(request.messages)}/{statement}")  # noqa: S311 nothing secret is drawn
        tasks = [self._task(statement, rng) for _ in range(rng.choice((0, 1, 1, 1, 1, 2)))]
        return json.dumps({"tasks": tasks}, ensure_ascii=False)

    def _task(self, statement: str, rng: random.Random) -> dict[str, Any]:
        words = _WORD.findall(statement) or [statement]
        acting = [found.group() for found in self.glossary.action_pattern.finditer(statement)]
        data = [word for word in self.glossary.entities if word in statement]
        places = [word for word in self.glossary.destinations if word in statement]
        times = [token.text for token in time_tokens(statement, self.glossary)]
        task: dict[str, Any] = {
            "action_words": rng.choice([*acting, *words]),
            "action": rng.choice(self.glossary.action_slugs),
            "entity_words": rng.choice([*data, *data, *words]),
            "destination_words": rng.choice([*places, *places, "", rng.choice(words)]),
            "time_words": times,
        }
        spoil = rng.choice(_SPOILS)
        spoil(task, statement, rng)
        return task


Spoil = Callable[[dict[str, Any], str, random.Random], None]


def _swapped(task: dict[str, Any], _: str, __: random.Random) -> None:
    if task["destination_words"]:
        task["entity_words"], task["destination_words"] = task["destination_words"], task["entity_words"]


def _cut_time(task: dict[str, Any], _: str, rng: random.Random) -> None:
    if task["time_words"]:
        cut = rng.randrange(len(task["time_words"]))
        task["time_words"][cut] = task["time_words"][cut][:-1]


def _lost_time(task: dict[str, Any], _: str, __: random.Random) -> None:
    task["time_words"] = task["time_words"][1:]


def _invented_time(task: dict[str, Any], _: str, rng: random.Random) -> None:
    task["time_words"] = [rng.choice(_INVENTED)]


def _greedy_entity(task: dict[str, Any], statement: str, rng: random.Random) -> None:
    start = rng.randrange(max(1, len(statement) - 4))
    task["entity_words"] = statement[start : start + rng.randint(2, 12)].strip() or statement


def _wrong_words_only(task: dict[str, Any], _: str, __: random.Random) -> None:
    """The words stand there and all times are told: such a reply can only be wrong in what it means."""


_SPOILS: tuple[Spoil, ...] = (
    _swapped,
    _cut_time,
    _lost_time,
    _invented_time,
    _greedy_entity,
    _wrong_words_only,
    _wrong_words_only,
    _wrong_words_only,
)
