"""Understanding a text: assign the unit, look in the cache, ask the version, say how sure the answer is, write it down."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from kickwheel.errors import KickwheelError, ServiceError, ServiceUnavailable
from kickwheel.evaluation.calibration import calibrated
from kickwheel.serving.assignment import Assignment, assign, unit_of
from kickwheel.serving.fleet import Fleet, InService, Serving
from kickwheel.serving.metrics import ServiceMetrics
from kickwheel.serving.ports import LiveStudent
from kickwheel.serving.problems import status_of
from kickwheel.serving.recorder import InferenceRecorder
from kickwheel.serving.response_cache import ResponseCache
from schemas.events import InferenceRecord
from schemas.frame import OUT_OF_SCOPE, Prediction
from schemas.understanding import UnderstandReply, UnderstandRequest

LOG = logging.getLogger(__name__)

SHADOW_AT_A_TIME = 8
"""Shadow questions under way; more are dropped and counted: a trial that nobody sees must not slow what everybody sees."""


@dataclass(frozen=True)
class Fallback:
    """What answers in the place of a version that does not."""

    name: str
    student: LiveStudent


@dataclass(frozen=True)
class _Answer:
    prediction: Prediction
    serving: Serving | None
    """None: the fallback answered."""
    name: str
    cached: bool = False
    latency_ms: float | None = None
    """What the version took; None: it was not asked, or did not answer."""


class UnderstandingService:
    """For one event loop.

    Args:
        low_confidence: confidence below which an answer says so, where the version has no calibration with its own threshold.
        fallback: None: a version that does not answer is an error.
    """

    def __init__(
        self,
        fleet: Fleet,
        cache: ResponseCache,
        recorder: InferenceRecorder,
        metrics: ServiceMetrics,
        *,
        low_confidence: float,
        fallback: Fallback | None,
        clock: Callable[[], datetime],
        timer: Callable[[], float],
    ):
        self.fleet, self.cache, self.recorder, self.metrics = fleet, cache, recorder, metrics
        self._low_confidence, self._fallback, self._clock, self._timer = low_confidence, fallback, clock, timer
        self._shadows: set[asyncio.Task[None]] = set()

    async def understand(self, request: UnderstandRequest) -> UnderstandReply:
        """A reply, and its record on the way to the store.

        Raises:
            ServiceUnavailable: nothing is in service yet.
            ServiceError: the version did not answer, and there is no fallback.
        """
        state = self.fleet.state
        if state is None:
            raise ServiceUnavailable(f"no version is warm yet: {self.fleet.problem}")
        inference_id = uuid.uuid4().hex
        assignment = assign(state.routing, unit_of(request.user, request.session, inference_id))
        try:
            answer = await self._answer(state.serving(assignment.arm), request.text)
        except ServiceError as error:
            self._record(request, inference_id, assignment, state.serving(assignment.arm).version.name, error)
            raise
        reply = self._reply(answer, inference_id, assignment)
        self._count(reply)
        self._record(request, inference_id, assignment, answer.name, reply, answer.latency_ms)
        if state.routing.shadow:
            self._ask_in_the_shadow(state, request, inference_id)
        return reply

    async def close(self) -> None:
        """End what runs in the background; records are written."""
        if self._shadows:
            await asyncio.wait(self._shadows, timeout=5.0)
        await self.fleet.close()
        if self._fallback is not None:
            await self._fallback.student.close()
        await self.recorder.close()

    async def _answer(self, serving: Serving, text: str) -> _Answer:
        found = self.cache.get(serving.key, text)
        if self.cache.size:
            self.metrics.cache.labels("miss" if found is None else "hit").inc()
        if found is not None:
            return _Answer(found, serving, serving.version.name, cached=True)
        try:
            prediction, latency_ms = await self._asked(serving, text)
        except ServiceError as error:
            if self._fallback is None:
                raise
            LOG.warning("%s answers in the place of %s: %s", self._fallback.name, serving.version.name, error)
            return _Answer(await self._fallback.student.understand(text), None, self._fallback.name)
        self.cache.put(serving.key, text, prediction)
        return _Answer(prediction, serving, serving.version.name, latency_ms=latency_ms)

    async def _asked(self, serving: Serving, text: str) -> tuple[Prediction, float]:
        """Its answer, and the milliseconds that it took."""
        begin = self._timer()
        try:
            return await serving.understand(text), 1000 * (self._timer() - begin)
        except KickwheelError:
            raise
        except Exception as error:  # a student in this process may fail with anything
            self.metrics.downstream_failures.labels(serving.version.name, "failed").inc()
            LOG.exception("%s failed", serving.version.name)
            raise ServiceUnavailable(f"version {serving.version.name} failed: {type(error).__name__}") from error
        finally:
            self.metrics.model_seconds.labels(serving.version.name).observe(self._timer() - begin)

    def _reply(self, answer: _Answer, inference_id: str, assignment: Assignment) -> UnderstandReply:
        prediction, calibration = answer.prediction, answer.serving.calibration if answer.serving else None
        confidence, threshold = prediction.confidence, self._low_confidence
        if confidence is not None and calibration is not None:
            confidence, threshold = calibrated(confidence, calibration), calibration.threshold
        low = None if confidence is None or prediction.frame is None else confidence < threshold
        out_of_scope = prediction.frame is not None and prediction.frame.intent == OUT_OF_SCOPE
        return UnderstandReply(
            inference_id=inference_id,
            model_version=answer.name,
            arm=assignment.arm,
            propensity=assignment.propensity,
            frame=prediction.frame,
            error=prediction.error,
            confidence=None if prediction.frame is None else confidence,
            calibrated=calibration is not None and confidence is not None and prediction.frame is not None,
            intent_confidence=prediction.intent_confidence,
            slot_confidence=prediction.slot_confidence,
            out_of_scope=out_of_scope,
            low_confidence=low,
            degraded=answer.serving is None,
            cached=answer.cached,
            note=_note(prediction, confidence, threshold, low=low, degraded=answer.serving is None),
        )

    def _count(self, reply: UnderstandReply) -> None:
        outcome = "no_frame" if reply.frame is None else "out_of_scope" if reply.out_of_scope else "understood"
        self.metrics.answers.labels(reply.model_version, reply.arm, "degraded" if reply.degraded else outcome).inc()
        if reply.low_confidence:
            self.metrics.low_confidence.labels(reply.model_version).inc()

    def _record(
        self,
        request: UnderstandRequest,
        inference_id: str,
        assignment: Assignment,
        version: str,
        outcome: UnderstandReply | ServiceError,
        latency_ms: float | None = None,
    ) -> None:
        failure = outcome if isinstance(outcome, ServiceError) else None
        reply = outcome if isinstance(outcome, UnderstandReply) else None
        self.recorder.put(
            InferenceRecord(
                inference_id=inference_id,
                session=request.session,
                user=request.user,
                text=request.text,
                frame=reply.frame if reply else None,
                model_version=version,
                arm=assignment.arm,
                experiment=assignment.experiment,
                propensity=assignment.propensity,
                position=request.position,
                confidence=reply.confidence if reply else None,
                error=reply.error if reply else type(failure).__name__,
                status=status_of(failure) if failure else 200,
                latency_ms=latency_ms,
                at=self._clock(),
            )
        )

    def _ask_in_the_shadow(self, state: InService, request: UnderstandRequest, inference_id: str) -> None:
        if state.challenger is None or len(self._shadows) >= SHADOW_AT_A_TIME:
            self.metrics.shadow.labels("dropped").inc()
            return
        task = asyncio.create_task(self._shadow(state, state.challenger, request, inference_id))
        self._shadows.add(task)
        task.add_done_callback(self._shadows.discard)

    async def _shadow(self, state: InService, challenger: Serving, request: UnderstandRequest, inference_id: str) -> None:
        try:
            answer, latency_ms = await self._asked(challenger, request.text)
        except KickwheelError:
            self.metrics.shadow.labels("failed").inc()
            return
        self.metrics.shadow.labels("answered").inc()
        # No session: nobody saw this answer, so what is said about the session is not about it. The user stays, for erasure.
        reply = self._reply(
            _Answer(answer, challenger, challenger.version.name), inference_id, Assignment("challenger", 1.0, "")
        )
        record = InferenceRecord(
            inference_id=f"{inference_id}.shadow",
            user=request.user,
            text=request.text,
            frame=reply.frame,
            model_version=reply.model_version,
            arm="shadow",
            experiment=state.routing.experiment,
            position=request.position,
            confidence=reply.confidence,
            error=reply.error,
            latency_ms=latency_ms,
            at=self._clock(),
        )
        self.recorder.put(record)


def _note(prediction: Prediction, confidence: float | None, threshold: float, *, low: bool | None, degraded: bool) -> str:
    if prediction.frame is None:
        said = f"Nothing was understood: the model's reply was no frame ({prediction.error})."
    elif prediction.frame.intent == OUT_OF_SCOPE:
        said = "The text asks for none of the domain's tasks."
    else:
        said = f"Understood as {prediction.frame.intent}."
    if low and confidence is not None:
        said += f" That is not sure: confidence {confidence:.2f} is below {threshold:.2f}. Ask the user."
    elif low is None and prediction.frame is not None:
        said += " How sure that is, is not known."
    return said + (" The probe answered, because the version in service did not." if degraded else "")
