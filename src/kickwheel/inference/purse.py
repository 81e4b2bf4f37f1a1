"""What may be spent on a teacher in a lap, and what has been: a hard budget that a kill does not reset.

Each answered call is a line on disk. Where a budget is set, a call is also written down before it is sent, at its upper
estimate, so that one which a ``kill -9`` interrupts counts as if it had been answered at its dearest. A call that might
exceed the budget waits for those in flight, whose real counts may leave room, and is not sent if they don't: asking ends less
than one call's estimate below the budget, and above it only if a service counts more tokens than the estimate.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

from pydantic import Field

from kickwheel.errors import BudgetSpent, InputError
from kickwheel.settings import TeacherSettings
from kickwheel.workspace import append_durably, read_log
from schemas.base import Contract

SPEND_FILE = "teacher_spend.jsonl"
"""In a lap's folder: what its teacher has cost."""


@dataclass(frozen=True)
class Budget:
    """0: no limit. Prices are of a million tokens, in any currency."""

    max_calls: int = 0
    max_tokens: int = 0
    max_cost: float = 0.0
    prompt_price_per_1m: float = 0.0
    completion_price_per_1m: float = 0.0

    @classmethod
    def of(cls, teacher: TeacherSettings) -> Budget:
        """The budget that settings give a lap.

        Raises:
            InputError: money is limited, and there are no prices to count it by.
        """
        if teacher.max_cost and not (teacher.prompt_price_per_1m or teacher.completion_price_per_1m):
            raise InputError(
                "money can't be counted without prices: set teacher.prompt_price_per_1m and teacher.completion_price_per_1m",
                field="teacher.max_cost",
            )
        return cls(
            teacher.max_calls,
            teacher.max_tokens,
            teacher.max_cost,
            teacher.prompt_price_per_1m,
            teacher.completion_price_per_1m,
        )

    @property
    def is_limited(self) -> bool:
        """Whether there is anything to keep to."""
        return bool(self.max_calls or self.max_tokens or self.max_cost)

    @property
    def has_prices(self) -> bool:
        """Whether calls can be told in money."""
        return bool(self.prompt_price_per_1m or self.completion_price_per_1m)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of so many tokens."""
        return (prompt_tokens * self.prompt_price_per_1m + completion_tokens * self.completion_price_per_1m) / 1e6


class Entry(Contract):
    """One line: a call about to be sent (estimated tokens), or what became of it (the service's count; nothing if it
    failed)."""

    call: str
    state: Literal["sent", "answered", "failed"]
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


@dataclass(frozen=True)
class Spent:
    """Calls that were paid for, with their tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, calls: int, prompt_tokens: int, completion_tokens: int) -> Spent:
        """This and more (or less)."""
        return Spent(self.calls + calls, self.prompt_tokens + prompt_tokens, self.completion_tokens + completion_tokens)


class Purse:
    """Keeps to a budget. May be used from many threads; one process at a time."""

    def __init__(self, ledger: Path, budget: Budget) -> None:
        self._ledger = ledger
        self._budget = budget
        self._closed_one = threading.Condition()
        self._in_flight = 0
        self._spent = read_spent(ledger)

    @property
    def spent(self) -> Spent:
        """So far, calls in flight at their estimates."""
        return self._spent

    def take(self, prompt_tokens: int, completion_tokens: int) -> Entry:
        """Take the estimate of a call out of the purse; it must be settled or given back.

        Raises:
            BudgetSpent: there is not enough in it.
        """
        entry = Entry(call=uuid4().hex[:12], state="sent", prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
        with self._closed_one:
            while limit := exceeded(self._budget, self._spent.plus(1, prompt_tokens, completion_tokens)):
                if not self._in_flight:
                    raise BudgetSpent(
                        f"the teacher's budget is spent ({limit}, {self._spent.calls} calls paid for in this lap): "
                        "raise it and run the same command again; nothing that was paid for is asked again"
                    )
                self._closed_one.wait()
            if self._budget.is_limited:
                append_durably(self._ledger, [entry])
            self._spent = self._spent.plus(1, prompt_tokens, completion_tokens)
            self._in_flight += 1
        return entry

    def settle(self, taken: Entry, prompt_tokens: int, completion_tokens: int) -> None:
        """The call was answered and has cost so much."""
        self._close(taken, "answered", 1, prompt_tokens, completion_tokens)

    def give_back(self, taken: Entry) -> None:
        """The call was refused or never arrived, and has cost nothing."""
        self._close(taken, "failed", 0, 0, 0)

    def _close(
        self, taken: Entry, state: Literal["answered", "failed"], calls: int, prompt_tokens: int, completion_tokens: int
    ) -> None:
        entry = Entry(call=taken.call, state=state, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
        with self._closed_one:
            if calls or self._budget.is_limited:
                append_durably(self._ledger, [entry])
            self._spent = self._spent.plus(
                calls - 1, prompt_tokens - taken.prompt_tokens, completion_tokens - taken.completion_tokens
            )
            self._in_flight -= 1
            self._closed_one.notify_all()


def read_spent(ledger: Path) -> Spent:
    """What a ledger says was spent: of each call its last line."""
    last = {entry.call: entry for entry in read_log(ledger, Entry)}
    paid = [entry for entry in last.values() if entry.state != "failed"]
    return Spent(len(paid), sum(entry.prompt_tokens for entry in paid), sum(entry.completion_tokens for entry in paid))


def exceeded(budget: Budget, after: Spent) -> str:
    """The setting of the budget that so much would exceed, with its value; empty: there is room."""
    if budget.max_calls and after.calls > budget.max_calls:
        return f"teacher.max_calls {budget.max_calls}"
    if budget.max_tokens and after.prompt_tokens + after.completion_tokens > budget.max_tokens:
        return f"teacher.max_tokens {budget.max_tokens}"
    if budget.max_cost and budget.cost(after.prompt_tokens, after.completion_tokens) > budget.max_cost:
        return f"teacher.max_cost {budget.max_cost:g}"
    return ""
