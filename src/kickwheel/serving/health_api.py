"""Routes for whoever runs the service: alive, ready, figures, what is in service."""

from __future__ import annotations

from fastapi import APIRouter, Response

from kickwheel.serving.deps import MAY_ADMINISTER, Metrics, Service
from kickwheel.serving.problems import openapi_responses
from kickwheel.serving.state import state_of
from schemas.understanding import Health, ServiceState

router = APIRouter(tags=["operations"])


@router.get("/healthz", summary="Whether the process runs")
async def alive() -> Health:
    """Always alive, if it can say so: restart it where it can't."""
    return Health(status="alive")


@router.get("/readyz", summary="Whether it may be sent traffic", responses={503: {"model": Health, "description": "Not yet"}})
async def ready(service: Service, response: Response) -> Health:
    """Ready once every version of a routing is warm (C8), 503 before. It stays so while a new routing is on its way."""
    if service.fleet.state is None:
        response.status_code = 503
        return Health(status="not_ready", detail=service.fleet.problem)
    return Health(status="ready")


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    dependencies=[MAY_ADMINISTER],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **openapi_responses(401, 403, 429)},
)
async def metrics(figures: Metrics) -> Response:
    """Prometheus' text format."""
    return Response(figures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get(
    "/v1/versions",
    summary="What is in service",
    dependencies=[MAY_ADMINISTER],
    responses=openapi_responses(401, 403, 429),
)
async def versions(service: Service) -> ServiceState:
    """Routing, loaded versions, cache, records that wait."""
    return state_of(service)
