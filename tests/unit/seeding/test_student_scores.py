"""The pool scored by the served student, from the probabilities of the tokens that name an intent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from kickwheel.errors import ServiceUnavailable, StageFailed
from kickwheel.inference.intent_distribution import intent_distribution
from kickwheel.inference.ports import ChatReply, ChatRequest
from kickwheel.probe import Probe
from kickwheel.seeding.probed_pool import probed_pool
from kickwheel.seeding.student_scores import StudentScorer
from kickwheel.settings import SeedingSettings
from kickwheel.testing.scripted_teacher import ScriptedTeacher
from tests.unit.seeding.seeding_world import CATALOG, POOL, SEEDS

INTENTS = ("sync_orders", "sync_invoices", "fetch_logs", "out_of_scope")


def reply(*tokens: tuple[str, Mapping[str, float]]) -> ChatReply:
    """A reply of tokens, each with the probabilities of what could have stood there."""
    return ChatReply(
        text="".join(token for token, _ in tokens),
        finish_reason="stop",
        model="student",
        prompt_tokens=3,
        completion_tokens=len(tokens),
        token_logprobs=tuple((token.encode(), math.log(table[token])) for token, table in tokens),
        alternatives=tuple({other.encode(): math.log(p) for other, p in table.items()} for _, table in tokens),
    )


SYNC = reply(
    ('{"intent": "', {'{"intent": "': 1.0}),
    ("sync", {"sync": 0.7, "fetch": 0.2, "out": 0.1}),
    ("_or", {"_or": 0.8, "_in": 0.2}),
    ("ders", {"ders": 1.0}),
    ('", "slots": {}}', {'", "slots": {}}': 1.0}),
)


def test_an_alternative_gives_its_probability_to_the_intents_that_still_fit() -> None:
    found = intent_distribution(SYNC, INTENTS)
    assert found == pytest.approx({"sync_orders": 0.56, "sync_invoices": 0.14, "fetch_logs": 0.2, "out_of_scope": 0.1})


def test_a_token_that_holds_the_quotation_mark_too_is_read_rightly() -> None:
    tokens = (
        ('{"intent":', {'{"intent":': 1.0}),
        (' "sync_orders"', {' "sync_orders"': 0.6, ' "sync_': 0.3, ' "fetch': 0.1}),
        ("}", {"}": 1.0}),
    )
    found = intent_distribution(reply(*tokens), INTENTS)
    assert found == pytest.approx({"sync_orders": 0.75, "sync_invoices": 0.15, "fetch_logs": 0.1})


def test_what_fits_no_intent_is_left_out_and_the_rest_sums_to_one() -> None:
    tokens = (('{"intent": "', {'{"intent": "': 1.0}), ('fetch_logs"', {'fetch_logs"': 0.5, "delete": 0.4, "sync_orders": 0.1}))
    found = intent_distribution(reply(*tokens), INTENTS)
    assert found == pytest.approx({"fetch_logs": 5 / 6, "sync_orders": 1 / 6})


@pytest.mark.parametrize("text", ["I don't know", '{"slots": {}}', ""])
def test_a_reply_without_an_intent_says_nothing(text: str) -> None:
    assert intent_distribution(reply((text, {text: 1.0})), INTENTS) is None


def test_without_probabilities_there_is_no_distribution() -> None:
    assert intent_distribution(ChatReply('{"intent": "fetch_logs"}', "stop", "s", 1, 1), INTENTS) is None


@pytest.fixture(scope="module")
def probe() -> Probe:
    return Probe.fit(SEEDS, seed=1)


def named(intent: str, sure: float) -> ChatReply:
    rival = "fetch_logs" if intent != "fetch_logs" else "sync_orders"
    table = {f'{intent}"': sure, f'{rival}"': 1 - sure}
    return reply(('{"intent": "', {'{"intent": "': 1.0}), (f'{intent}"', table), ("}", {"}": 1.0}))


def test_rows_are_chosen_by_the_students_doubts(tmp_path: Path, probe: Probe) -> None:
    unsure = POOL[3].text

    def student(request: ChatRequest) -> ChatReply:
        return named("sync_orders", 0.51 if request.messages[-1].content == unsure else 0.99)

    scorer = StudentScorer(ScriptedTeacher(student), CATALOG, probe, tmp_path / "s.jsonl", max_concurrency=2)
    found = probed_pool(probe, POOL, SEEDS, settings=SeedingSettings(), scorer=scorer)
    assert found.intents == scorer.classes
    assert int(np.argmax(found.margin)) == 3
    assert {found.intents[k] for k in found.predicted} == {"sync_orders"}


def test_taken_up_again_it_asks_for_the_rest_only(tmp_path: Path, probe: Probe) -> None:
    log, texts = tmp_path / "s.jsonl", [row.text for row in POOL[:6]]
    student = ScriptedTeacher(lambda _: named("sync_orders", 0.8))
    StudentScorer(student, CATALOG, probe, log, max_concurrency=1).probabilities(texts[:4])
    table = StudentScorer(student, CATALOG, probe, log, max_concurrency=1).probabilities(texts)
    assert len(student.requests) == 6
    assert np.allclose(table.sum(axis=1), 1.0)


def test_what_the_student_cannot_say_the_probe_says(tmp_path: Path, probe: Probe) -> None:
    answers = [named("sync_orders", 0.8), reply(("nonsense", {"nonsense": 1.0})), ServiceUnavailable("busy")]
    scorer = StudentScorer(ScriptedTeacher(answers), CATALOG, probe, tmp_path / "s.jsonl", max_concurrency=1)
    texts = [row.text for row in POOL[:3]]
    table = scorer.probabilities(texts)
    own = [scorer.classes.index(intent) for intent in probe.classes]
    assert np.allclose(table[1:][:, own], probe.probabilities(texts[1:]))
    assert table[0].max() == pytest.approx(0.8)


def test_a_server_without_probabilities_stops_with_what_to_do(tmp_path: Path, probe: Probe) -> None:
    student = ScriptedTeacher(lambda _: '{"intent": "sync_orders", "slots": {}}')
    scorer = StudentScorer(student, CATALOG, probe, tmp_path / "s.jsonl", max_concurrency=1)
    with pytest.raises(StageFailed, match=r"seeding\.scores to probe"):
        scorer.probabilities([POOL[0].text])


def test_a_dead_server_is_an_error_not_a_score(tmp_path: Path, probe: Probe) -> None:
    student = ScriptedTeacher(lambda _: ServiceUnavailable("gone"))
    with pytest.raises(ServiceUnavailable):
        StudentScorer(student, CATALOG, probe, tmp_path / "s.jsonl", max_concurrency=1).probabilities([POOL[0].text])
