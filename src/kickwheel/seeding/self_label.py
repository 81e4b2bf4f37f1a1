"""The teacher labels the chosen rows. A row that fails is a typed error of that row, never a failure of the stage.

(argilla-io/distilabel 52, 1014; refuel-ai/autolabel 325, PR 63, PR 664, 746; vllm-project/vllm 8350, 38696.)
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace

import numpy as np

from kickwheel.errors import AccessRefused, BudgetSpent, ServiceError, ServiceUnavailable, StageFailed, is_transient
from kickwheel.inference.error_kinds import kind_of
from kickwheel.inference.field_confidence import FieldConfidence, field_confidence
from kickwheel.inference.frame_codec import decode_frame
from kickwheel.inference.patient_client import Patience
from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest
from kickwheel.inference.remembering_client import call_key
from kickwheel.seeding.label_log import LabelLog, TeacherCall, prompt_sha256
from kickwheel.seeding.teacher_prompt import TeacherPrompt
from schemas.frame import Prediction
from schemas.task import TaskCatalog
from schemas.utterance import Utterance

ATTEMPTS = 2
"""The first answer, and one more that is shown what was wrong."""
VOTE_TEMPERATURE = 0.7
"""Of the second and further votes on a row; the first is the likeliest answer (self-consistency, Wang et al. 2022)."""
_FIRST_FAILURES = 3
"""Rows that nobody answers before it is plain that there is no teacher."""


@dataclass(frozen=True)
class TeacherLabel:
    """What the teacher made of one row: a prediction with a frame or a typed error, and every settled call it took.

    Args:
        vote_share: share of the votes that the frame got; 1 where one was asked for.
    """

    row: Utterance
    prediction: Prediction
    calls: tuple[TeacherCall, ...]
    vote_share: float = 1.0

    @property
    def answer(self) -> TeacherCall:
        """The last call that gave the frame. The prediction must have one."""
        return next(call for call in reversed(self.calls) if call.frame == self.prediction.frame)


@dataclass
class SelfLabeller:
    """Asks the teacher about rows, several at once, each reply on disk before it is used.

    Args:
        sleep: waits that many seconds; an argument so that a test need not.
        votes: answers asked for a row; with more than one, a frame needs more than half of them, else the row's error is
            ``no_majority``.
    """

    client: ChatClient
    prompt: TeacherPrompt
    catalog: TaskCatalog
    log: LabelLog
    max_concurrency: int
    seed: int
    sleep: Callable[[float], None]
    patience: Patience = field(default_factory=Patience)
    votes: int = 1

    def label(self, rows: Sequence[Utterance], progress: Callable[[int, int], None] | None = None) -> list[TeacherLabel]:
        """One label a row, in order.

        Raises:
            StageFailed: the first rows found nobody at the endpoint; what is in the log stays, the stage can be run again.
        """
        reach = _Reach(min(_FIRST_FAILURES, len(rows)))
        labels: dict[int, TeacherLabel] = {}
        pool = ThreadPoolExecutor(max_workers=max(1, min(self.max_concurrency, len(rows))), thread_name_prefix="teacher")
        try:
            futures = {pool.submit(self._label_row, row, i, reach): i for i, row in enumerate(rows)}
            for future in as_completed(futures):
                labels[futures[future]] = future.result()
                if progress is not None:
                    progress(len(labels), len(rows))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return [labels[i] for i in range(len(rows))]

    def _label_row(self, row: Utterance, index: int, reach: _Reach) -> TeacherLabel:
        rng = np.random.default_rng([self.seed, index])
        calls: list[TeacherCall] = []
        votes = [self._vote(row, number, rng, reach, calls) for number in range(self.votes)]
        prediction, share = _majority(votes)
        return TeacherLabel(row, prediction, tuple(calls), share)

    def _vote(
        self, row: Utterance, number: int, rng: np.random.Generator, reach: _Reach, calls: list[TeacherCall]
    ) -> Prediction:
        """One answer; settled calls are added to ``calls``."""
        request = self.prompt.request(row.text)
        prediction = Prediction(error="empty")
        for attempt in range(1, ATTEMPTS + 1):
            request = vote_request(request, number)
            call = self.log.get(call_key(self.client.model, request)) or self._ask(request, row, attempt, rng, reach)
            if call.settled:
                calls.append(call)
            prediction = self._read(row.text, call)
            if prediction.frame is not None or not call.finish_reason:
                break
            request = self.prompt.request(row.text, refused=call.reply(), error=prediction.error or "")
        return prediction

    def _ask(self, request: ChatRequest, row: Utterance, attempt: int, rng: np.random.Generator, reach: _Reach) -> TeacherCall:
        """Ask until there is a reply or a final error, and log it; a call that a budget forbids was none."""
        blank = TeacherCall(
            key=call_key(self.client.model, request),
            prompt_sha256=prompt_sha256(request),
            utterance=row.id,
            attempt=attempt,
            model=self.client.model,
        )
        try:
            call = self._answered(blank, row.text, self._complete(request, rng, reach))
        except BudgetSpent as error:
            return blank.model_copy(update={"error": kind_of(error), "message": str(error)})
        except ServiceError as error:
            call = blank.model_copy(update={"error": kind_of(error), "message": str(error)})
        self.log.add(call)
        return call

    def _complete(self, request: ChatRequest, rng: np.random.Generator, reach: _Reach) -> ChatReply:
        tried = 0
        while True:
            reach.check()
            tried += 1
            try:
                reply = self.client.complete(request)
            except ServiceError as error:
                wait = self.patience.wait_s(error, tried, rng) if is_transient(error) else None
                if wait is None:
                    reach.failed(error)
                    raise
            else:
                reach.answered()
                return reply
            self.sleep(wait)

    def _answered(self, blank: TeacherCall, text: str, reply: ChatReply) -> TeacherCall:
        call = blank.model_copy(
            update={
                "model": reply.model,
                "raw": reply.text,
                "finish_reason": reply.finish_reason or "unknown",
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
                "mean_logprob": reply.mean_logprob,
            }
        )
        read = self._read(text, call)
        sure = field_confidence(reply, read.frame) if read.frame else FieldConfidence()
        more = {"intent_confidence": sure.intent, "slot_confidence": sure.slots}
        return call.model_copy(update={"frame": read.frame, "error": read.error, **more})

    def _read(self, text: str, call: TeacherCall) -> Prediction:
        if not call.finish_reason:  # no reply came
            return Prediction(error=call.error)
        read = decode_frame(text, call.raw, self.catalog, finish_reason=call.finish_reason)
        confidence = None if call.mean_logprob is None else min(1.0, math.exp(call.mean_logprob))
        return read.model_copy(
            update={
                "confidence": confidence,
                "intent_confidence": call.intent_confidence,
                "slot_confidence": call.slot_confidence,
            }
        )


class _Reach:
    """Whether anybody is at the endpoint, judged by the first rows."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._heard = False
        self._failures = 0
        self._last = ""

    def answered(self) -> None:
        self._heard = True

    def failed(self, error: ServiceError) -> None:
        if not isinstance(error, ServiceUnavailable | AccessRefused):
            self._heard = True  # a 429, or a refusal of this one request, is an answer
            return
        with self._lock:
            self._failures += 1
            self._last = str(error)
        self.check()

    def check(self) -> None:
        if not self._heard and self._failures >= self._limit:
            raise StageFailed(
                f"no teacher: the first {self._failures} rows got no answer, the last one because {self._last}. "
                "Start the endpoint or correct its address, key or model name; answers that came before are kept and not "
                "asked for again"
            )


def vote_request(request: ChatRequest, number: int) -> ChatRequest:
    """The request of vote ``number`` (from 0): the first is not sampled."""
    return replace(request, temperature=VOTE_TEMPERATURE, seed=number) if number else request


def _majority(votes: Sequence[Prediction]) -> tuple[Prediction, float]:
    """The prediction whose frame has more than half of the votes, with its share; without one, what went wrong first."""
    counts = Counter(vote.frame.model_dump_json() for vote in votes if vote.frame is not None)
    if not counts:
        return votes[0], 0.0
    frame, number = counts.most_common(1)[0]
    best = next(vote for vote in votes if vote.frame is not None and vote.frame.model_dump_json() == frame)
    share = number / len(votes)
    return (best, share) if share > 0.5 else (best.model_copy(update={"frame": None, "error": "no_majority"}), share)
