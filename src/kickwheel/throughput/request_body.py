"""The JSON of a load test's chat requests: the product's own prompt, sampling and, if asked for, schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kickwheel.inference.frame_codec import STOP
from kickwheel.inference.ports import Message
from kickwheel.inference.student_prompt import as_openai, student_messages


def request_body(
    model: str,
    text: str,
    *,
    max_tokens: int,
    fixed_tokens: int = 0,
    schema: Mapping[str, Any] | None = None,
    messages: Sequence[Message] | None = None,
    stream: bool = True,
) -> bytes:
    """One request, greedy, streamed, with the server's own token counts in the last event.

    Args:
        fixed_tokens: what the reply is made to have (vLLM's ``ignore_eos``), so that arms do the same work; 0: it ends where
            the model ends it, as in service, at ``max_tokens`` at the latest. Such replies are cut anywhere: their task
            accuracy means nothing.
        schema: JSON Schema that the server must keep to (``frame_codec.frame_json_schema``); None: free decoding.
        messages: another prompt than the student's own.
    """
    fields: dict[str, Any] = {
        "model": model,
        "messages": as_openai(tuple(messages) if messages is not None else student_messages(text)),
        "max_tokens": fixed_tokens or max_tokens,
        "temperature": 0.0,
    }
    if stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    if fixed_tokens:
        fields["ignore_eos"] = True
    else:
        fields["stop"] = list(STOP)
    if schema is not None:
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "frame", "strict": True, "schema": schema}}
    return json.dumps(fields, ensure_ascii=False).encode()
