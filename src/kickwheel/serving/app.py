"""The understanding API as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response

from kickwheel import __version__
from kickwheel.errors import KickwheelError
from kickwheel.serving import health_api, understand_api
from kickwheel.serving.access import CallerLimits, Tokens
from kickwheel.serving.deps import MAY_GIVE_FEEDBACK
from kickwheel.serving.entry import Entry
from kickwheel.serving.metrics import ServiceMetrics
from kickwheel.serving.problems import MEDIA_TYPE, advice, openapi_responses, problem, retry_seconds, status_of
from kickwheel.serving.service import UnderstandingService

LOG = logging.getLogger(__name__)

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")

Opening = Callable[[], "contextlib.AbstractAsyncContextManager[UnderstandingService]"]


def create_app(
    opening: Opening,
    *,
    tokens: Tokens,
    limits: CallerLimits,
    metrics: ServiceMetrics,
    max_body_bytes: int,
    feedback: APIRouter | None = None,
) -> FastAPI:
    """The application.

    Args:
        opening: opens the service on the event loop that will run it, and closes it when the last request is answered.
        tokens: none configured: only names of this machine are answered (a page of another origin must not reach it by DNS).
        feedback: routes for feedback; None: there are none.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opening() as service:
            app.state.service = service
            following = asyncio.create_task(service.fleet.follow())
            try:
                yield
            finally:
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await following

    app = FastAPI(
        title="Kickwheel understanding API",
        version=__version__,
        description="Texts in, frames out, feedback back. Errors are RFC 9457 problem details.",
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.tokens, app.state.limits, app.state.metrics = tokens, limits, metrics
    app.include_router(understand_api.router)  # first: routes are tried in order, and this one is asked for most
    app.include_router(health_api.router)
    if feedback is not None:
        refusals = openapi_responses(400, 401, 403, 413, 422, 429, 503)
        app.include_router(feedback, dependencies=[MAY_GIVE_FEEDBACK], responses=refusals)
    app.add_exception_handler(RequestValidationError, _does_not_hold)
    app.add_exception_handler(StarletteHTTPException, _refused)
    app.add_exception_handler(KickwheelError, _not_answered)
    if not tokens:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOCAL_NAMES, www_redirect=False)
    app.add_middleware(Entry, metrics=metrics, max_body_bytes=max_body_bytes)
    return app


def _answer(
    request: Request, status: int, detail: str, headers: dict[str, str] | None = None, errors: tuple[str, ...] = ()
) -> Response:
    told = problem(status, detail, getattr(request.state, "request_id", ""), errors)
    return Response(told.model_dump_json(), status, headers, MEDIA_TYPE)


async def _does_not_hold(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    found = tuple(f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()[:20])
    return _answer(request, 422, "Correct what errors names; /docs describes every field", None, found)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)  # noqa: S101
    known = {
        400: "The body is no JSON in UTF-8",
        404: "See /docs for what there is",
        405: "See /docs for the methods",
    }
    detail = (
        error.detail if isinstance(error, HTTPException) and error.status_code not in known else known.get(error.status_code)
    )
    return _answer(request, error.status_code, str(detail or error.detail), dict(error.headers or {}))


async def _not_answered(request: Request, error: Exception) -> Response:
    assert isinstance(error, KickwheelError)  # noqa: S101
    status = status_of(error)
    LOG.warning("request %s: %s", getattr(request.state, "request_id", ""), error)
    headers = {"Retry-After": str(retry_seconds(error))} if status == 503 else None
    return _answer(request, status, str(error) if status == 422 else advice(status), headers)
