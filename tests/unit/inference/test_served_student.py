"""The served student: replies become predictions, failures too."""

from __future__ import annotations

import math
from collections.abc import Callable
from uuid import UUID

import pytest

from kickwheel.errors import KickwheelError, RateLimited, RequestRefused, ServiceUnavailable
from kickwheel.inference.ports import ChatReply, ChatRequest
from kickwheel.inference.served_student import ServedStudent
from kickwheel.inference.student_prompt import student_messages
from schemas.task import SlotSpec, TaskCatalog, TaskSchema

CATALOG = TaskCatalog(
    domain="test",
    tasks=(
        TaskSchema(
            id=UUID(int=1), intent="sync_orders", action="sync", target="orders", slots=(SlotSpec(name="date", type="date"),)
        ),
    ),
)


class Answers:
    """A client that answers by a function of the user's text; an error is raised."""

    model = "scripted"

    def __init__(self, answer: Callable[[str], str | KickwheelError], mean_logprob: float | None = None):
        self.answer = answer
        self.mean_logprob = mean_logprob

    def complete(self, request: ChatRequest) -> ChatReply:
        assert request.messages == student_messages(request.messages[-1].content)
        answer = self.answer(request.messages[-1].content)
        if isinstance(answer, KickwheelError):
            raise answer
        return ChatReply(
            text=answer,
            finish_reason="stop",
            model="scripted",
            prompt_tokens=3,
            completion_tokens=5,
            mean_logprob=self.mean_logprob,
        )


def student(client: Answers) -> ServedStudent:
    return ServedStudent(client, student_messages, CATALOG, "tuned", 2)


def test_predictions_come_in_the_order_of_the_texts() -> None:
    frames = {
        "now": '{"intent": "out_of_scope", "slots": {}}',
        "sync 昨天": '{"intent": "sync_orders", "slots": {"date": "昨天"}}',
    }
    first, second = student(Answers(frames.__getitem__)).predict(["sync 昨天", "now"])
    assert first.frame is not None
    assert first.frame.values == {"date": "昨天"}
    assert second.frame is not None
    assert second.frame.intent == "out_of_scope"


def test_confidence_is_the_geometric_mean_probability() -> None:
    (prediction,) = student(Answers(lambda _text: '{"intent": "out_of_scope", "slots": {}}', math.log(0.8))).predict(["x"])
    assert prediction.confidence == pytest.approx(0.8)


def test_no_log_probabilities_is_not_a_low_confidence() -> None:
    """refuel-ai/autolabel#746, PR 664: not known is apart from low, whatever the reply is."""
    for reply in ('{"intent": "out_of_scope", "slots": {}}', "nonsense"):
        assert student(Answers(lambda _text, reply=reply: reply)).predict(["x"])[0].confidence is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ServiceUnavailable("down"), "unavailable"), (RateLimited("slow"), "rate_limited"), (RequestRefused("long"), "refused")],
)
def test_a_failed_request_is_a_prediction_with_its_kind(error: KickwheelError, kind: str) -> None:
    client = Answers(lambda text: error if text == "bad" else '{"intent": "out_of_scope", "slots": {}}')
    good, bad = student(client).predict(["good", "bad"])
    assert good.error is None
    assert (bad.error, bad.frame) == (kind, None)


def test_a_server_that_answered_nothing_gives_no_predictions() -> None:
    with pytest.raises(ServiceUnavailable):
        student(Answers(lambda _text: ServiceUnavailable("down"))).predict(["a", "b"])


def test_no_texts_give_no_predictions() -> None:
    assert student(Answers(lambda _text: "")).predict([]) == []
