"""The pool scored by the served student: its own doubts, where the probe's are another model's.

A call a row, remembered by model and text, so that a round that is taken up again asks for the rest only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kickwheel.errors import KickwheelError, StageFailed
from kickwheel.inference.batch import Outcome, complete_many
from kickwheel.inference.frame_codec import STOP
from kickwheel.inference.intent_distribution import intent_distribution
from kickwheel.inference.ports import ChatClient, ChatRequest
from kickwheel.inference.served_student import MAX_TOKENS
from kickwheel.inference.student_prompt import student_messages
from kickwheel.probe import Probe
from kickwheel.workspace import append_durably, fingerprint, read_log
from schemas.base import Contract, Sha256
from schemas.frame import OUT_OF_SCOPE
from schemas.task import TaskCatalog

ALTERNATIVES = 20
"""Alternatives asked for at each token: the most that OpenAI and vLLM give unless told otherwise."""


class StudentScore(Contract):
    """One line of the log: what the student thinks of one text."""

    key: Sha256
    intents: dict[str, float] | None
    """None: the reply names no intent."""


class StudentScorer:
    """An :class:`~kickwheel.seeding.probed_pool.IntentScorer`. A text to which the student has no answer gets the probe's.

    Args:
        client: where the student is served, with log-probabilities.
        log: file of the scores; may be shared by all laps of a domain.
    """

    def __init__(self, client: ChatClient, catalog: TaskCatalog, probe: Probe, log: Path, *, max_concurrency: int) -> None:
        self._client, self._probe, self._log = client, probe, log
        self._max_concurrency = max_concurrency
        self.classes = tuple(sorted({*catalog.intents, OUT_OF_SCOPE, *probe.classes}))
        self._known = {score.key: score for score in read_log(log, StudentScore)}

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(texts, classes), rows sum to 1.

        Raises:
            ServiceError: not one call was answered.
            StageFailed: the server gives no probabilities.
        """
        self._ask([text for text in dict.fromkeys(texts) if self._key(text) not in self._known])
        column = {intent: place for place, intent in enumerate(self.classes)}
        table = np.zeros((len(texts), len(self.classes)))
        scores = [self._known.get(self._key(text)) for text in texts]
        unanswered = [place for place, score in enumerate(scores) if score is None or score.intents is None]
        if unanswered:
            own = [column[intent] for intent in self._probe.classes]
            table[np.ix_(unanswered, own)] = self._probe.probabilities([texts[place] for place in unanswered])
        for place, score in enumerate(scores):
            for intent, probability in ((score and score.intents) or {}).items():
                table[place, column[intent]] = probability
        return table

    def _ask(self, texts: Sequence[str]) -> None:
        requests = [ChatRequest(student_messages(text), MAX_TOKENS, stop=STOP, top_logprobs=ALTERNATIVES) for text in texts]

        def keep(index: int, outcome: Outcome) -> None:
            if isinstance(outcome, KickwheelError):
                return
            if outcome.alternatives is None:
                raise StageFailed(
                    f"{self._client.model!r} gives no probabilities of its tokens, so it cannot score the pool: "
                    "set seeding.scores to probe, or serve the student where logprobs are given"
                )
            score = StudentScore(key=self._key(texts[index]), intents=intent_distribution(outcome, self.classes))
            append_durably(self._log, [score])
            self._known[score.key] = score

        outcomes = complete_many(self._client, requests, max_concurrency=self._max_concurrency, on_reply=keep)
        errors = [outcome for outcome in outcomes if isinstance(outcome, KickwheelError)]
        if errors and len(errors) == len(outcomes):
            raise errors[0]

    def _key(self, text: str) -> str:
        return fingerprint(self._client.model, self.classes, text)
