"""The answer to words of time that name no schedule."""

from __future__ import annotations

from schemas.task import RejectionReason


class TimeRefused(ValueError):
    """The message is the question that would settle it."""

    def __init__(self, question: str, reason: RejectionReason = "ambiguous_time"):
        self.reason: RejectionReason = reason
        super().__init__(question)
