"""A student behind a chat endpoint."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kickwheel.errors import KickwheelError
from kickwheel.inference.batch import Outcome, complete_many
from kickwheel.inference.error_kinds import kind_of
from kickwheel.inference.field_confidence import field_confidence
from kickwheel.inference.frame_codec import STOP, decode_frame
from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest, Message
from schemas.frame import Prediction
from schemas.task import TaskCatalog

MAX_TOKENS = 64
"""The longest frame of the example has 46 tokens; a Chinese character takes two or three."""


class ServedStudent:
    """A :class:`~kickwheel.inference.ports.Student`: the served adapter, or the served base without one."""

    def __init__(
        self,
        client: ChatClient,
        messages_for: Callable[[str], tuple[Message, ...]],
        catalog: TaskCatalog,
        name: str,
        max_concurrency: int,
        *,
        max_tokens: int = MAX_TOKENS,
        confidence: bool = False,
        json_schema: Mapping[str, Any] | None = None,
    ):
        self._client = client
        self._messages_for = messages_for
        self._catalog = catalog
        self._name = name
        self._max_concurrency = max_concurrency
        self._max_tokens = max_tokens
        self._top_logprobs = int(confidence)
        self._json_schema = json_schema

    @property
    def name(self) -> str:
        """Name in reports."""
        return self._name

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """One prediction a text, in order. A request that failed is a prediction with one of the errors of
        :func:`~kickwheel.inference.error_kinds.kind_of`.

        ``confidence`` is the geometric mean of the tokens' probabilities, if asked for at the start (it costs a server about a
        tenth of its rate) and given by the server; else None. So it is with the confidence of intent and slots.

        Raises:
            ServiceError: not one request was answered, so there is nothing to judge the student by.
        """
        requests = [
            ChatRequest(
                messages=self._messages_for(text),
                max_tokens=self._max_tokens,
                stop=STOP,
                top_logprobs=self._top_logprobs,
                json_schema=self._json_schema,
            )
            for text in texts
        ]
        outcomes = complete_many(self._client, requests, max_concurrency=self._max_concurrency)
        errors = [outcome for outcome in outcomes if isinstance(outcome, KickwheelError)]
        if errors and len(errors) == len(outcomes):
            raise errors[0]
        return [self._prediction(text, outcome) for text, outcome in zip(texts, outcomes, strict=True)]

    def _prediction(self, text: str, outcome: Outcome) -> Prediction:
        if isinstance(outcome, KickwheelError):
            return Prediction(error=kind_of(outcome))
        return read_reply(text, outcome, self._catalog)


def read_reply(text: str, reply: ChatReply, catalog: TaskCatalog) -> Prediction:
    """A server's reply as a prediction, with the confidence that its log-probabilities give, if it gave any."""
    prediction = decode_frame(text, reply.text, catalog, finish_reason=reply.finish_reason)
    if reply.mean_logprob is None:
        return prediction
    sure: dict[str, object] = {"confidence": min(1.0, math.exp(reply.mean_logprob))}
    if prediction.frame is not None:
        fields = field_confidence(reply, prediction.frame)
        sure |= {"intent_confidence": fields.intent, "slot_confidence": fields.slots}
    return prediction.model_copy(update=sure)
