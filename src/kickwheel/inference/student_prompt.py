"""The student's prompts. The user's text is a message of its own, data and never instruction."""

from __future__ import annotations

import json

from kickwheel.inference.ports import Message
from schemas.frame import OUT_OF_SCOPE
from schemas.task import TaskCatalog

SYSTEM = "Frame:"
"""The tuned student's whole instruction: what it must do is in its weights, so every token here would only cost."""


def student_messages(text: str) -> tuple[Message, ...]:
    """The prompt that the student is trained and served with."""
    return (Message("system", SYSTEM), Message("user", text))


def zero_shot_messages(text: str, catalog: TaskCatalog) -> tuple[Message, ...]:
    """The prompt of the untuned base: it has to be told the intents and slots, or the comparison would be unfair."""
    lines = [
        "Turn the user's message into JSON with an intent and slots. "
        "Slot values are copied from the message, letter by letter.",
        'Reply with JSON only, for example {"intent": "' + catalog.intents[0] + '", "slots": {}}',
        "Intents and their slots:",
    ]
    for task in catalog.tasks:
        slots = ", ".join(slot.name for slot in task.slots) or "none"
        lines.append(f"- {task.intent} ({slots}): {task.description}")
    lines.append(f"- {OUT_OF_SCOPE} (none): anything else")
    return (Message("system", "\n".join(lines)), Message("user", text))


def as_openai(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    """Messages in the form of the OpenAI chat API and of chat templates."""
    return [{"role": message.role, "content": message.content} for message in messages]


def quote(text: str) -> str:
    """Text as a JSON string: the way user text stands inside a longer prompt."""
    return json.dumps(text, ensure_ascii=False)
