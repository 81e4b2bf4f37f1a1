"""Tokens of a text before any tokenizer has seen it: an upper estimate, for budgets and limits."""

from __future__ import annotations

from kickwheel.inference.ports import ChatRequest

MESSAGE_TOKENS = 6
"""What a chat template puts around a message."""


def estimated_tokens(text: str) -> int:
    """Upper estimate of tokens: three a Han character or emoji, one for every three other code points."""
    wide = sum(ord(char) > 0x2E7F for char in text)
    return 3 * wide + (len(text) - wide + 2) // 3


def prompt_tokens(request: ChatRequest) -> int:
    """Upper estimate of a request's prompt, what its template adds included."""
    return sum(estimated_tokens(message.content) + MESSAGE_TOKENS for message in request.messages)
