"""Chat clients that keep to limits a minute, and to a budget."""

from __future__ import annotations

from dataclasses import dataclass

from kickwheel.errors import AnswerTimeout, RateLimited, ServiceError
from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest
from kickwheel.inference.purse import Purse
from kickwheel.inference.rate_limit import RateLimiter
from kickwheel.inference.token_estimate import prompt_tokens


@dataclass(frozen=True)
class LimitedClient:
    """A ChatClient in front of another. Safe to call from many threads; each try of a call counts by itself."""

    client: ChatClient
    limiter: RateLimiter

    @property
    def model(self) -> str:
        """Served model name."""
        return self.client.model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once, when the limits allow it. Raises what the client raises."""
        tell = self.limiter.acquire(prompt_tokens(request) + request.max_tokens)
        try:
            reply = self.client.complete(request)
        except RateLimited as error:
            if error.retry_after is not None:
                self.limiter.hold(error.retry_after)
            raise
        if reply.prompt_tokens:
            tell(reply.prompt_tokens + reply.completion_tokens)
        return reply


@dataclass(frozen=True)
class MeteredClient:
    """A ChatClient in front of another, which pays for its calls. Safe to call from many threads."""

    client: ChatClient
    purse: Purse

    @property
    def model(self) -> str:
        """Served model name."""
        return self.client.model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once. What came to nothing costs nothing, a call that timed out its prompt.

        Raises:
            BudgetSpent: the budget does not allow it; nothing was sent.
            Whatever the client raises.
        """
        estimate = prompt_tokens(request)
        taken = self.purse.take(estimate, request.max_tokens)
        try:
            reply = self.client.complete(request)
        except AnswerTimeout:
            self.purse.settle(taken, estimate, 0)
            raise
        except ServiceError:
            self.purse.give_back(taken)
            raise
        except BaseException:  # nobody knows what became of it
            self.purse.settle(taken, estimate, request.max_tokens)
            raise
        self.purse.settle(taken, reply.prompt_tokens or estimate, reply.completion_tokens)
        return reply
