"""What a served student thinks of all intents, from the probabilities of the tokens that write one of them.

At each token of the intent's name the server gives the likeliest alternatives. An alternative leads away from the name that was
written to those names that still fit what would then stand there: it gives them its probability, in equal parts where several
fit. What fits no intent, and what lies beyond the alternatives given, is left out; the rest is scaled to sum to 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from kickwheel.inference.ports import ChatReply

_HEAD = re.compile(r'^\s*\{\s*"intent"\s*:\s*"')


def intent_distribution(reply: ChatReply, intents: Sequence[str]) -> dict[str, float] | None:
    """Intent -> probability, those above 0; None: the server gave no alternatives, or the reply names no intent."""
    head = _HEAD.match(reply.text)
    if head is None or not reply.alternatives or not reply.token_logprobs:
        return None
    begin = head.group(0).encode()
    names = {intent: begin + intent.encode() + b'"' for intent in intents}
    found = dict.fromkeys(intents, 0.0)
    written, sure = b"", 1.0
    for (token, logprob), others in zip(reply.token_logprobs, reply.alternatives, strict=True):
        if len(written + token) > len(begin):
            for other, other_logprob in others.items():
                if other != token:
                    _share(found, names, written + other, sure * math.exp(other_logprob))
            sure *= math.exp(logprob)
        written += token
        closed = [intent for intent, name in names.items() if written.startswith(name)]
        if closed:
            found[closed[0]] += sure
            break
    total = math.fsum(found.values())
    return {intent: mass / total for intent, mass in found.items() if mass > 0} if total > 0 else None


def _share(found: dict[str, float], names: dict[str, bytes], text: bytes, mass: float) -> None:
    fitting = [intent for intent, name in names.items() if name.startswith(text) or text.startswith(name)]
    for intent in fitting:
        found[intent] += mass / len(fitting)
