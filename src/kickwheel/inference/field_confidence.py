"""How sure a model was of each field of its reply, from the probabilities of the tokens that write the field's value.

A field's confidence is the product of its tokens' probabilities: that of the value as a whole, given what stands before it. The
fixed parts of the JSON, of which a model is always sure, do not count (refuel-ai/autolabel 867).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

from kickwheel.inference.ports import ChatReply
from schemas.frame import Frame

_STRING_FIELD = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class FieldConfidence:
    """Probabilities in [0, 1]; a field that is not there is not known, which is not the same as low."""

    intent: float | None = None
    slots: dict[str, float] = field(default_factory=dict)


def field_confidence(reply: ChatReply, frame: Frame) -> FieldConfidence:
    """Confidence of a frame's fields in the reply that it was read from; nothing where the server gave no probabilities."""
    spans = _token_spans(reply)
    if spans is None:
        return FieldConfidence()
    intent: float | None = None
    slots: dict[str, float] = {}
    for match in _STRING_FIELD.finditer(reply.text):
        name, value = (_decoded(match.group(part)) for part in (1, 2))
        start, end = (len(reply.text[:position].encode()) for position in match.span(2))
        sure = min(1.0, math.exp(math.fsum(logprob for first, last, logprob in spans if first < end and start < last)))
        if intent is None and (name, value) == ("intent", frame.intent):
            intent = sure
        elif frame.values.get(name) == value:
            slots.setdefault(name, sure)
    return FieldConfidence(intent, slots)


def _token_spans(reply: ChatReply) -> list[tuple[int, int, float]] | None:
    """(first byte, one past the last, log-probability) of each token; None: the tokens are not those of the text."""
    if not reply.token_logprobs:
        return None
    place = -b"".join(token for token, _ in reply.token_logprobs).find(reply.text.encode())
    if place > 0:
        return None
    spans = []
    for token, logprob in reply.token_logprobs:
        spans.append((place, place + len(token), logprob))
        place += len(token)
    return spans


def _decoded(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except json.JSONDecodeError:
        return text
