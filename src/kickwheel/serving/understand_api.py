"""Routes for understanding."""

from __future__ import annotations

from fastapi import APIRouter, Response

from kickwheel.serving.deps import MAY_UNDERSTAND, Service
from kickwheel.serving.problems import openapi_responses
from schemas.understanding import UnderstandReply, UnderstandRequest

router = APIRouter(tags=["understanding"])


@router.post(
    "/v1/understand",
    summary="Turn a text into a frame",
    dependencies=[MAY_UNDERSTAND],
    response_model=UnderstandReply,
    responses=openapi_responses(400, 401, 403, 413, 422, 429, 502, 503, 504),
)
async def understand(body: UnderstandRequest, service: Service) -> Response:
    """The frame that the version in service understands, how sure it is, and the id to name in feedback."""
    reply = await service.understand(body)
    # A reply is a contract that was checked when it was made: it is not checked again on its way out.
    return Response(reply.model_dump_json(), media_type="application/json")
