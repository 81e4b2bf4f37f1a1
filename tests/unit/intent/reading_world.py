"""Statements with words that no rule knows, and a model that reads them rightly."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kickwheel.inference.ports import ChatClient, ChatRequest
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.llm import LlmRecogniser
from kickwheel.intent.llm_prompt import LlmPrompt
from kickwheel.intent.rules import RulesRecogniser
from kickwheel.testing.nonsense_reader import asked_statement

STATEMENTS = Path(__file__).parent / "statements"
GLOSSARY = load_glossary(STATEMENTS / "glossary.yaml")
RULES = RulesRecogniser(GLOSSARY)
HAUL = "每天早上八点半把用户订单捎到数据湖"
GRAB = "Every weekday, grab the FX rates at 7:00"


def task(action_words: str, action: str, entity: str, destination: str = "", *times: str) -> dict[str, Any]:
    return {
        "action_words": action_words,
        "action": action,
        "entity_words": entity,
        "destination_words": destination,
        "time_words": list(times),
    }


RIGHT: dict[str, list[dict[str, Any]]] = {
    HAUL: [task("捎到", "sync", "用户订单", "数据湖", "每天早上八点半")],
    GRAB: [task("grab", "fetch", "FX rates", "", "Every weekday", "at 7:00")],
}


def reply(tasks: Sequence[dict[str, Any]]) -> str:
    return json.dumps({"tasks": list(tasks)}, ensure_ascii=False)


def rightly(request: ChatRequest) -> str:
    """What a good model says; of a statement that it was not told about, that there is no task."""
    return reply(RIGHT.get(asked_statement(request), []))


def always(*tasks: dict[str, Any]) -> Callable[[ChatRequest], str]:
    return lambda _: reply(tasks)


def reader(client: ChatClient) -> LlmRecogniser:
    return LlmRecogniser(client, LlmPrompt(GLOSSARY), RULES)
