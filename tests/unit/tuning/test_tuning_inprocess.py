"""The student in this process: padded batches, typed errors, the base without an adapter."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from kickwheel.inference.student_prompt import zero_shot_messages
from kickwheel.testing.instant_trainer import write_untrained_adapter
from kickwheel.tuning.inprocess_adapter import InProcessStudent
from schemas.task import SlotSpec, TaskCatalog, TaskSchema
from schemas.tuning import LoraPlan

TEXTS = ["sync it", "please sync all the orders of last week to the lake 🙂", "同步订单"]


@pytest.fixture(scope="module")
def catalog() -> TaskCatalog:
    task = TaskSchema(id=UUID(int=1), intent="sync_orders", action="sync", target="orders", slots=(SlotSpec(name="date"),))
    return TaskCatalog(domain="d", tasks=(task,))


@pytest.fixture(scope="module")
def base_replies(tiny_base: Path, catalog: TaskCatalog) -> list[str]:
    student = InProcessStudent(tiny_base, None, catalog, "base", max_tokens=12)
    return [prediction.raw for prediction in student.predict(TEXTS)]


def test_answers_do_not_depend_on_the_batch(tiny_base: Path, catalog: TaskCatalog, base_replies: list[str]) -> None:
    alone = InProcessStudent(tiny_base, None, catalog, "base", max_tokens=12, batch_size=1)
    assert [prediction.raw for prediction in alone.predict(TEXTS)] == base_replies
    assert len(set(base_replies)) == len(TEXTS)


def test_reply_that_does_not_end_is_truncated_and_not_certain(tiny_base: Path, catalog: TaskCatalog) -> None:
    (prediction,) = InProcessStudent(tiny_base, None, catalog, "base", max_tokens=3).predict(["sync it"])
    assert prediction.error == "truncated"
    assert prediction.frame is None
    assert prediction.confidence is not None
    assert 0 < prediction.confidence < 1


def test_untrained_adapter_answers_like_the_base(
    tiny_base: Path, tmp_path: Path, catalog: TaskCatalog, base_replies: list[str]
) -> None:
    write_untrained_adapter(tmp_path, json.loads((tiny_base / "config.json").read_text()), LoraPlan())
    student = InProcessStudent(tiny_base, tmp_path, catalog, "tuned", max_tokens=12)
    assert student.name == "tuned"
    assert [prediction.raw for prediction in student.predict(TEXTS)] == base_replies


def test_base_is_asked_with_a_prompt_of_its_own(tiny_base: Path, catalog: TaskCatalog, base_replies: list[str]) -> None:
    student = InProcessStudent(
        tiny_base, None, catalog, "base", max_tokens=12, messages_for=lambda text: zero_shot_messages(text, catalog)
    )
    assert [prediction.raw for prediction in student.predict(TEXTS)] != base_replies


def test_no_texts_no_predictions(tiny_base: Path, catalog: TaskCatalog) -> None:
    assert InProcessStudent(tiny_base, None, catalog, "base").predict([]) == []
