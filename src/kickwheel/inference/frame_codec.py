"""Frames as the text that a model writes, and back.

Written form: ``{"intent": "sync_orders", "slots": {"date": "yesterday"}}``, slots in text order.
"""

from __future__ import annotations

import json
import re
from typing import Any

from schemas.frame import OUT_OF_SCOPE, Frame, Prediction
from schemas.task import TaskCatalog

_FENCE = re.compile(r"^\s*```(?:json)?\s*(.*?)\s*```\s*$", re.DOTALL)

STOP = ("\n\n",)
"""Ends a reply: no frame has a blank line, also when pretty-printed or fenced. An untuned model goes on with prose."""


def encode_frame(frame: Frame) -> str:
    """The frame as the student writes it."""
    return json.dumps({"intent": frame.intent, "slots": frame.values}, ensure_ascii=False)


def decode_frame(text: str, reply: str, catalog: TaskCatalog, *, finish_reason: str = "stop") -> Prediction:
    """Read a reply. What does not hold ends as a typed error: truncated, declined (by the model or a filter before it),
    empty, malformed, wrong_shape, unknown_intent, unknown_slot, span_not_in_text."""
    frame: Frame | None = None
    error: str | None = None
    if finish_reason == "length":
        error = "truncated"
    elif finish_reason in ("content_filter", "refusal"):
        error = "declined"
    elif not reply.strip():
        error = "empty"
    else:
        frame, error = _parse(text, reply, catalog)
    return Prediction(frame=frame, raw=reply, error=error)


def _parse(text: str, reply: str, catalog: TaskCatalog) -> tuple[Frame | None, str | None]:
    fenced = _FENCE.match(reply)
    try:
        data = json.loads(fenced.group(1) if fenced else reply)
    except (json.JSONDecodeError, RecursionError):
        return None, "malformed"
    if not isinstance(data, dict) or set(data) - {"intent", "slots"} or not isinstance(data.get("intent"), str):
        return None, "wrong_shape"
    intent, slots = data["intent"], data.get("slots", {})
    if not isinstance(slots, dict) or not all(isinstance(value, str) for value in slots.values()):
        return None, "wrong_shape"
    if intent != OUT_OF_SCOPE and intent not in catalog.intents:
        return None, "unknown_intent"
    if set(slots) - {slot.name for slot in catalog.slots_of(intent)}:
        return None, "unknown_slot"
    try:
        return Frame.from_values(text, intent, slots), None
    except ValueError:
        return None, "span_not_in_text"


def frame_json_schema(catalog: TaskCatalog) -> dict[str, Any]:
    """JSON Schema of a reply: one branch an intent, with just the slots of that intent."""
    branches = [
        _branch(intent, [slot.name for slot in catalog.slots_of(intent)]) for intent in (*catalog.intents, OUT_OF_SCOPE)
    ]
    return {"anyOf": branches}


def _branch(intent: str, slots: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "intent": {"const": intent},
            "slots": {
                "type": "object",
                "properties": {name: {"type": "string", "minLength": 1, "maxLength": 80} for name in slots},
                "additionalProperties": False,
            },
        },
        "required": ["intent", "slots"],
        "additionalProperties": False,
    }
