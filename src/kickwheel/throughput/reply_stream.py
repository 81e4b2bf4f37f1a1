"""What the pieces of a streamed chat completion say: tokens with their times, text, the server's own token counts, errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class StreamedReply:
    """One reply. ``token_times``: when each piece of text came; several tokens may come in one piece."""

    token_times: list[float] = field(default_factory=list)
    text: str = ""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error: str | None = None


def read_reply(pieces: Sequence[tuple[float, bytes]]) -> StreamedReply:
    """Read server-sent events, or a single JSON completion where the server does not stream.

    ``error``: ``stream_error`` for an event that says so or is no JSON, ``incomplete`` where ``[DONE]`` never came.
    """
    reply = StreamedReply()
    if pieces and pieces[0][1].lstrip().startswith(b"{"):
        return _whole(pieces, reply)
    texts: list[str] = []
    done = False
    for at, data in _events(pieces):
        if data == b"[DONE]":
            done = True
            continue
        try:
            event = json.loads(data)
        except ValueError:
            reply.error = "stream_error"
            return reply
        if not isinstance(event, dict) or "error" in event:
            reply.error = "stream_error"
            return reply
        _count(event.get("usage"), reply)
        for choice in event.get("choices") or ():
            if content := (choice.get("delta") or {}).get("content"):
                texts.append(content)
                reply.token_times.append(at)
            reply.finish_reason = choice.get("finish_reason") or reply.finish_reason
    reply.text = "".join(texts)
    reply.error = None if done else "incomplete"
    return reply


def _whole(pieces: Sequence[tuple[float, bytes]], reply: StreamedReply) -> StreamedReply:
    try:
        completion = json.loads(b"".join(data for _, data in pieces))
        choice = completion["choices"][0]
        reply.text = choice["message"]["content"] or ""
        reply.finish_reason = choice.get("finish_reason") or ""
    except (ValueError, LookupError, TypeError):
        reply.error = "stream_error"
        return reply
    reply.token_times = [pieces[-1][0]]
    _count(completion.get("usage"), reply)
    return reply


def _count(usage: Any, reply: StreamedReply) -> None:
    if isinstance(usage, dict):
        reply.prompt_tokens = int(usage.get("prompt_tokens") or 0)
        reply.completion_tokens = int(usage.get("completion_tokens") or 0)


def _events(pieces: Iterable[tuple[float, bytes]]) -> Iterable[tuple[float, bytes]]:
    """(time of its last byte, data) of each event; an event may be cut anywhere, and a piece may hold several."""
    rest = b""
    for at, piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield at, line[5:].strip()
