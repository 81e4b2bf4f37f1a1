"""Routes for feedback: events in, evidence out. Who may call them with how large a body is the application's business."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.params import Depends
from pydantic import BaseModel, Discriminator, Tag

from kickwheel.errors import RateLimited, ServiceUnavailable
from kickwheel.feedback.evidence import feedback_signals
from kickwheel.feedback.writer_adapter import GroupCommitWriter
from kickwheel.settings import DistillationSettings
from kickwheel.spellings import case_key
from schemas.events import (
    AbandonEvent,
    BackAndReturnEvent,
    BounceEvent,
    DwellEvent,
    EventId,
    FeedbackBatch,
    OperatorLabelEvent,
    OutcomeEvent,
    Received,
    RephraseEvent,
    ScrollEvent,
    SlotEditEvent,
    ThumbsEvent,
)
from schemas.evidence import FeedbackSignals


def _kind(body: Any) -> str | None:
    """Which of the forms a body is meant to be: told before it is checked, so that errors are about that form alone."""
    if isinstance(body, dict):
        return "batch" if "events" in body else body.get("kind")
    return "batch" if isinstance(body, FeedbackBatch) else getattr(body, "kind", None)


Posted = Annotated[
    Annotated[FeedbackBatch, Tag("batch")]
    | Annotated[DwellEvent, Tag("dwell")]
    | Annotated[ScrollEvent, Tag("scroll")]
    | Annotated[BounceEvent, Tag("bounce")]
    | Annotated[BackAndReturnEvent, Tag("back_and_return")]
    | Annotated[RephraseEvent, Tag("rephrase")]
    | Annotated[SlotEditEvent, Tag("slot_edit")]
    | Annotated[AbandonEvent, Tag("abandon")]
    | Annotated[ThumbsEvent, Tag("thumbs")]
    | Annotated[OperatorLabelEvent, Tag("operator_label")]
    | Annotated[OutcomeEvent, Tag("outcome")],
    Discriminator(_kind),
]
"""One event, or ``{"events": [...]}``."""


def feedback_router(
    writer: GroupCommitWriter, settings: DistillationSettings | None = None, *, readers: Sequence[Depends] = ()
) -> APIRouter:
    """``POST /v1/feedback``: one event or a batch, acknowledged when it is durable. The same events again change nothing.
    ``GET /v1/signals``: what the events say by now; it shows what users typed, so ``readers`` says who may read.

    429 with Retry-After where too much waits to be written, 503 where the store can't be reached: nothing was taken then, or
    it is taken again without harm.
    """
    router = APIRouter(tags=["feedback"])

    @router.post(
        "/v1/feedback",
        summary="Report what users and operators did with answers",
        response_model=Received,
        responses={429: {"description": "Too much waits to be written"}, 503: {"description": "The store can't be reached"}},
    )
    async def post_feedback(body: Posted) -> Response:
        now = datetime.now(UTC)
        events = body.events if isinstance(body, FeedbackBatch) else (body,)
        try:
            return _json(await writer.add(events=[event.model_copy(update={"received_at": now}) for event in events]))
        except RateLimited as error:
            raise HTTPException(429, str(error), {"Retry-After": str(int(error.retry_after or 1))}) from error
        except ServiceUnavailable as error:
            raise HTTPException(
                503, "the feedback store can't be reached: send the events again", {"Retry-After": "1"}
            ) from error

    @router.get(
        "/v1/signals",
        summary="Read what feedback says about an answer, or about a text; without either, about none",
        response_model=FeedbackSignals,
        dependencies=readers,
    )
    def get_signals(
        inference_id: Annotated[EventId | None, Query(description="Signals about this answer alone")] = None,
        text: Annotated[str | None, Query(min_length=1, max_length=2000, description="All evidence about this text")] = None,
    ) -> Response:
        try:
            found = feedback_signals(
                writer.store,
                settings or DistillationSettings(),
                now=datetime.now(UTC),
                cases=[] if text is None else [case_key(text)],
                inference_ids=None if inference_id is None else [inference_id],
            )
        except ServiceUnavailable as error:
            raise HTTPException(503, "the store can't be reached", {"Retry-After": "1"}) from error
        return _json(found)

    return router


def _json(result: BaseModel) -> Response:
    """A contract as it is: checking it again on its way out would take longer than all the rest."""
    return Response(result.model_dump_json(), media_type="application/json")
