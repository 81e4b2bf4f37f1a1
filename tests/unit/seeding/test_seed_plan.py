"""A plan tells what a run does, and makes no call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kickwheel.domain import Domain, load_domain, scaffold_domain
from kickwheel.inference.metered_client import MeteredClient
from kickwheel.inference.purse import SPEND_FILE, Budget, Purse, Spent, read_spent
from kickwheel.intent.mapping import map_requirements
from kickwheel.lineage import stage_inputs
from kickwheel.seeding.lap_inputs import lap_inputs
from kickwheel.seeding.plan import plan_seeding
from kickwheel.seeding.rounds import run_round
from kickwheel.settings import Settings, get_settings
from kickwheel.testing.scripted_teacher import ScriptedTeacher
from kickwheel.workspace import Lap, next_lap, open_lap, write_jsonl
from schemas.seed_versions import SeedPlan
from schemas.task import TaskCatalog
from schemas.utterance import Utterance, language_of

MODEL = "scripted-teacher"


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    folder = scaffold_domain("claims", tmp_path)
    texts = (
        "reload Friday",
        "kong errors, please",
        "where is the canteen",
        "订单又丢了",
        "支付日志给我",
        "who owns billing",
        "月末订单",
    )
    write_jsonl(
        folder / "pool.jsonl", [Utterance(id=f"p{n}", text=text, language=language_of(text)) for n, text in enumerate(texts)]
    )
    return load_domain(folder)


def catalog_of(domain: Domain) -> TaskCatalog:
    return map_requirements(domain.requirement_files, domain=domain.name, zone=domain.zone, glossary=domain.glossary())


def settings_of(home: Path, seeding: Mapping[str, object] | None = None, **teacher: object) -> Settings:
    return get_settings({"home": home, "seeding": {"per_round": 3, "rounds": 2, **(seeding or {})}, "teacher": teacher})


def plan_of(domain: Domain, settings: Settings, model: str = MODEL) -> SeedPlan:
    return plan_seeding(domain, settings, next_lap(settings.home, domain.name), catalog_of(domain), model)


def run(domain: Domain, settings: Settings, rounds: int, votes: int = 1) -> Spent:
    """Rounds of the lap, as the flow runs them."""
    lap = open_lap(settings.home, domain.name)
    catalog = catalog_of(domain)
    lap.finish("intent", catalog, "x")
    folder = lap.work("seeding", stage_inputs("seeding", domain, settings, lap))
    inputs = lap_inputs(domain, settings, lap, catalog, folder).inputs
    ledger = lap.folder / SPEND_FILE
    teacher = ScriptedTeacher(lambda _: '{"intent": "out_of_scope", "slots": {}}')
    for number in range(1, rounds + 1):
        run_round(inputs, number, MeteredClient(teacher, Purse(ledger, Budget())))
    return read_spent(ledger)


def test_a_plan_writes_nothing_and_makes_no_call(domain: Domain, tmp_path: Path) -> None:
    home = tmp_path / "home"
    plan = plan_of(domain, settings_of(home))
    assert plan.calls_made == 0
    assert not home.exists()
    assert (plan.rows, plan.calls, plan.most_calls, plan.remembered) == (6, 6, 12, 0)
    assert [item.exact for item in plan.rounds] == [True, False]
    assert (plan.cost, plan.least_seconds, plan.stops_at) == (None, 0.0, None)


def test_a_run_makes_the_calls_that_were_planned(domain: Domain, tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")
    plan = plan_of(domain, settings)
    assert run(domain, settings, rounds=2).calls == plan.calls


def test_what_is_done_or_remembered_is_not_planned_again(domain: Domain, tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")
    run(domain, settings, rounds=1)
    plan = plan_of(domain, settings)
    assert (plan.lap, plan.finished_rounds, [item.number for item in plan.rounds]) == (1, 1, [2])
    next((tmp_path / "home").rglob("round-0001.json")).unlink()  # as a kill before its end leaves it
    again = plan_of(domain, settings)
    assert (again.finished_rounds, again.rounds[0].remembered, again.rounds[0].calls) == (0, 3, 0)
    assert again.rounds[0].prompt_tokens == 0
    assert again.rounds[1].prompt_tokens > 0


def test_another_model_remembers_nothing(domain: Domain, tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")
    run(domain, settings, rounds=1)
    next((tmp_path / "home").rglob("round-0001.json")).unlink()
    assert plan_of(domain, settings, "another").remembered == 0


def test_money_time_and_the_end_of_the_budget_are_told(domain: Domain, tmp_path: Path) -> None:
    limits = {"requests_per_minute": 2, "max_calls": 5, "prompt_price_per_1m": 1.0, "completion_price_per_1m": 2.0}
    plan = plan_of(domain, settings_of(tmp_path / "home", **limits))
    assert plan.cost == pytest.approx((plan.prompt_tokens + 2 * plan.completion_tokens) / 1e6)
    assert plan.least_seconds == 120.0  # six calls: two now, two in a minute, two in two
    assert plan.stops_at == "teacher.max_calls 5"
    slow = plan_of(domain, settings_of(tmp_path / "home", tokens_per_minute=plan.prompt_tokens))
    assert slow.least_seconds == 60.0


def test_votes_multiply_calls(domain: Domain, tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home", {"votes": 3})
    plan = plan_of(domain, settings)
    assert plan.calls == 18
    assert run(domain, settings, rounds=2).calls == 18


def test_without_a_teacher_there_is_nothing_to_plan(domain: Domain, tmp_path: Path) -> None:
    plan = plan_of(domain, settings_of(tmp_path / "home"), model="")
    assert (plan.model, plan.rounds, plan.calls) == ("none", (), 0)


def test_a_lap_that_would_be_opened_is_only_named(domain: Domain, tmp_path: Path) -> None:
    assert next_lap(tmp_path, domain.name) == Lap(tmp_path / domain.name / "laps" / "0001", 1)
    assert not (tmp_path / domain.name / "laps").exists()
