"""Builds the application of a domain from its settings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from fastapi import FastAPI

from kickwheel.domain import Domain
from kickwheel.feedback.writer_adapter import GroupCommitWriter
from kickwheel.serving.access import CallerLimits, Tokens
from kickwheel.serving.app import create_app
from kickwheel.serving.batching_adapter import BatchedStudent
from kickwheel.serving.deps import MAY_ADMINISTER
from kickwheel.serving.feedback_api import feedback_router
from kickwheel.serving.fleet import Fleet
from kickwheel.serving.metrics import ServiceMetrics
from kickwheel.serving.recorder import InferenceRecorder
from kickwheel.serving.response_cache import ResponseCache
from kickwheel.serving.routing_adapter import RoutingWatch, routing_path
from kickwheel.serving.service import Fallback, UnderstandingService
from kickwheel.serving.students_adapter import StudentWorkshop
from kickwheel.settings import Settings


def open_app(domain: Domain, settings: Settings, tokens: Tokens, writer: GroupCommitWriter | None) -> FastAPI:
    """The application of a domain; it follows the domain's routing file from its start to its end.

    Args:
        writer: where records and feedback go; closed by whoever opened it, after the application. None: nothing is kept.
    """
    metrics = ServiceMetrics()
    workshop = StudentWorkshop(domain, settings, metrics)

    @asynccontextmanager
    async def opening() -> AsyncIterator[UnderstandingService]:
        serving = settings.serving
        fallback = None
        if serving.fallback == "probe":
            probe = await asyncio.to_thread(workshop.probe)
            fallback = Fallback(f"{domain.name}-probe", BatchedStudent(probe, most=serving.batch))
        service = UnderstandingService(
            Fleet(RoutingWatch(routing_path(settings.home, domain.name)), workshop, drain_s=serving.drain_s),
            ResponseCache(serving.cache_size),
            InferenceRecorder(writer),
            metrics,
            low_confidence=serving.low_confidence,
            fallback=fallback,
            clock=lambda: datetime.now(UTC),
            timer=time.perf_counter,
        )
        _follow(metrics, service)
        try:
            yield service
        finally:
            await service.close()

    return create_app(
        opening,
        tokens=tokens,
        limits=CallerLimits(settings.serving.calls_per_second, clock=time.monotonic),
        metrics=metrics,
        max_body_bytes=settings.serving.max_body_bytes,
        feedback=feedback_router(writer, settings.distillation, readers=[MAY_ADMINISTER]) if writer is not None else None,
    )


def _follow(metrics: ServiceMetrics, service: UnderstandingService) -> None:
    """Gauges of what has a value at any time."""
    fleet, cache, recorder = service.fleet, service.cache, service.recorder
    metrics.follow("ready", "1: every version of a routing is warm", lambda: float(fleet.state is not None))
    metrics.follow(
        "routing_revision", "Revision of the routing in service", lambda: fleet.state.routing.revision if fleet.state else 0
    )
    metrics.follow("routing_stuck", "1: the newest routing could not be put in service", lambda: float(bool(fleet.problem)))
    metrics.follow(
        "in_flight",
        "Requests that versions work on",
        lambda: sum(one.in_flight for one in fleet.state.all) if fleet.state else 0,
    )
    metrics.follow("cache_hit_rate", "Share of lookups that found an answer, since the start", lambda: cache.hit_rate or 0.0)
    metrics.follow("records_unwritten", "Inference records that are not durable yet", lambda: recorder.unwritten)
    metrics.follow("records_lost", "Inference records that were dropped", lambda: recorder.lost)
