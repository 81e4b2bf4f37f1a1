"""A budget that holds: across threads, kills and laps taken up again."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kickwheel.errors import (
    AnswerTimeout,
    BudgetSpent,
    InputError,
    KickwheelError,
    RateLimited,
    RequestRefused,
    ServiceUnavailable,
    is_transient,
)
from kickwheel.inference.metered_client import LimitedClient, MeteredClient
from kickwheel.inference.ports import ChatReply, ChatRequest, Message
from kickwheel.inference.purse import Budget, Purse, Spent, read_spent
from kickwheel.inference.rate_limit import RateLimiter
from kickwheel.inference.token_estimate import prompt_tokens
from kickwheel.settings import TeacherSettings
from kickwheel.testing.scripted_teacher import Answer, ScriptedTeacher

REPLY = ChatReply("ok", "stop", "m", 20, 5)


def ask(text: str = "hello") -> ChatRequest:
    return ChatRequest(messages=(Message("user", text),), max_tokens=10)


def metered(teacher: ScriptedTeacher, ledger: Path, budget: Budget) -> MeteredClient:
    return MeteredClient(teacher, Purse(ledger, budget))


def answers(client: MeteredClient, calls: int) -> int:
    """Answered calls until the budget is spent, or all of them."""
    for number in range(calls):
        try:
            client.complete(ask())
        except BudgetSpent:
            return number
    return calls


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [
        (Budget(), 9),
        (Budget(max_calls=4), 4),
        # A call is let go at its estimate of prompt (8) and longest reply (10), and counted as 25 when it is answered.
        (Budget(max_tokens=100), 4),
        (Budget(max_tokens=92), 3),
        (Budget(max_cost=0.0001, prompt_price_per_1m=1.0, completion_price_per_1m=2.0), 3),  # 30 millionths each
        (Budget(max_calls=5, max_tokens=60), 2),
    ],
)
def test_asking_ends_where_the_budget_does(budget: Budget, allowed: int, tmp_path: Path) -> None:
    teacher = ScriptedTeacher(lambda _: REPLY)
    assert answers(metered(teacher, tmp_path / "ledger.jsonl", budget), 9) == allowed
    assert len(teacher.requests) == allowed
    assert read_spent(tmp_path / "ledger.jsonl") == Spent(allowed, 20 * allowed, 5 * allowed)


def test_the_error_names_the_budget_and_is_final(tmp_path: Path) -> None:
    client = metered(ScriptedTeacher(lambda _: REPLY), tmp_path / "ledger.jsonl", Budget(max_calls=1))
    client.complete(ask())
    with pytest.raises(BudgetSpent, match=r"teacher\.max_calls 1.*1 calls paid for") as caught:
        client.complete(ask())
    assert not is_transient(caught.value)


def test_a_lap_taken_up_again_goes_on_counting(tmp_path: Path) -> None:
    teacher = ScriptedTeacher(lambda _: REPLY)
    assert answers(metered(teacher, tmp_path / "ledger.jsonl", Budget(max_calls=3)), 2) == 2
    assert answers(metered(teacher, tmp_path / "ledger.jsonl", Budget(max_calls=3)), 9) == 1


def test_a_call_that_a_kill_interrupted_counts_at_its_estimate(tmp_path: Path) -> None:
    ledger, budget = tmp_path / "ledger.jsonl", Budget(max_calls=2)
    Purse(ledger, budget).take(50, 10)  # and never another word of it
    assert read_spent(ledger) == Spent(1, 50, 10)
    assert answers(metered(ScriptedTeacher(lambda _: REPLY), ledger, budget), 9) == 1


@pytest.mark.parametrize(
    ("error", "spent"),
    [
        (ServiceUnavailable("500"), Spent()),
        (RateLimited("429"), Spent()),
        (RequestRefused("400"), Spent()),
        (AnswerTimeout("no answer"), Spent(1, prompt_tokens(ask()), 0)),
        (ZeroDivisionError("a bug"), Spent(1, prompt_tokens(ask()), 10)),
    ],
)
def test_a_failed_call_costs_what_a_service_may_charge_for(error: Exception, spent: Spent, tmp_path: Path) -> None:
    client = metered(ScriptedTeacher([error]), tmp_path / "ledger.jsonl", Budget(max_calls=9))
    with pytest.raises(type(error)):
        client.complete(ask())
    assert client.purse.spent == read_spent(tmp_path / "ledger.jsonl") == spent


def test_many_threads_do_not_pay_for_more_than_one_would(tmp_path: Path) -> None:
    def slowly(_: ChatRequest) -> Answer:
        time.sleep(0.002)
        return ChatReply("ok", "stop", "m", 5, 3)

    teacher = ScriptedTeacher(slowly)
    # Sixteen calls in flight are 288 tokens by estimate, 128 in truth: they wait for each other instead of giving up.
    client = metered(teacher, tmp_path / "ledger.jsonl", Budget(max_tokens=200))

    def outcome(_: int) -> KickwheelError | ChatReply:
        try:
            return client.complete(ask())
        except BudgetSpent as error:
            return error

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(outcome, range(40)))
    assert sum(isinstance(item, ChatReply) for item in outcomes) == len(teacher.requests) == 23
    assert read_spent(tmp_path / "ledger.jsonl") == Spent(23, 115, 69)


def test_the_wait_that_a_service_asks_for_holds_back_everybody() -> None:
    now = [0.0]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        now[0] += seconds
        waits.append(seconds)

    teacher = ScriptedTeacher([RateLimited("429", retry_after=7.0), REPLY])
    client = LimitedClient(teacher, RateLimiter(0, 0, clock=lambda: now[0], sleep=sleep))
    with pytest.raises(RateLimited):
        client.complete(ask())
    assert client.complete(ask()) == REPLY
    assert (client.model, waits) == ("scripted-teacher", [7.0])


def test_the_tokens_that_a_call_really_had_make_room_for_the_next() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    teacher = ScriptedTeacher(lambda _: ChatReply("ok", "stop", "m", 2, 1))  # 18 by estimate
    client = LimitedClient(teacher, RateLimiter(0, 30, clock=lambda: now[0], sleep=sleep))
    for _ in range(5):
        client.complete(ask())
    assert now[0] == 0.0
    client.complete(ask())  # 15 + 18 are more than 30
    assert now[0] == 60.0


def test_a_service_that_counts_no_tokens_is_charged_at_the_estimate(tmp_path: Path) -> None:
    client = metered(ScriptedTeacher([ChatReply("ok", "stop", "m", 0, 0)]), tmp_path / "ledger.jsonl", Budget())
    client.complete(ask())
    assert client.purse.spent.prompt_tokens == prompt_tokens(ask())


def test_a_budget_of_money_needs_prices() -> None:
    with pytest.raises(InputError, match=r"teacher\.max_cost.*prompt_price_per_1m"):
        Budget.of(TeacherSettings(max_cost=1.0))
    priced = Budget.of(TeacherSettings(max_cost=1.0, prompt_price_per_1m=2.0, completion_price_per_1m=4.0))
    assert priced.cost(1_000_000, 500_000) == 4.0
