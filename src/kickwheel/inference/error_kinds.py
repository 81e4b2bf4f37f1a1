"""One word for each way in which a call can fail: what rows carry and reports count."""

from __future__ import annotations

from kickwheel.errors import AnswerTimeout, BudgetSpent, ContextTooLong, KickwheelError, RateLimited, ServiceUnavailable

UNSETTLED = frozenset({"rate_limited", "unavailable", "timeout", "refused", "budget_spent"})
"""Kinds that say nothing about the request itself: it may be answered another time, with another key or a larger budget."""


def kind_of(error: KickwheelError) -> str:
    """``rate_limited``, ``timeout``, ``unavailable``, ``context_too_long``, ``budget_spent``, else ``refused``."""
    kinds: tuple[tuple[type[KickwheelError], str], ...] = (
        (RateLimited, "rate_limited"),
        (AnswerTimeout, "timeout"),
        (ServiceUnavailable, "unavailable"),
        (ContextTooLong, "context_too_long"),
        (BudgetSpent, "budget_spent"),
    )
    return next((name for kind, name in kinds if isinstance(error, kind)), "refused")
