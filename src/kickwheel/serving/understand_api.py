"""Routes for understanding."""

from __future__ import annotations

from fastapi import APIRouter

from kickwheel.serving.deps import MAY_UNDERSTAND, Service
from kickwheel.serving.problems import openapi_responses
from schemas.understanding import UnderstandReply, UnderstandRequest

router = APIRouter(tags=["understanding"])


@router.post(
    "/v1/understand",
    summary="Turn a text into a frame",
    dependencies=[MAY_UNDERSTAND],
    responses=openapi_responses(400, 401, 403, 413, 422, 429, 502, 503, 504),
)
async def understand(body: UnderstandRequest, service: Service) -> UnderstandReply:
    """The frame that the version in service understands, how sure it is, and the id to name in feedback."""
    return await service.understand(body)
