"""The review page over HTTP, for this machine only.

Whoever may open the page may answer; pages of other origins may not: a request needs a Host of this machine (no DNS
rebinding), the token that only our own page holds, and, where a browser sends one, an Origin of our own.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from html import escape
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kickwheel.errors import InputError
from kickwheel.review.answering import tightened
from kickwheel.review.desk import Desk
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.review import Decision, ReviewerName

HOSTS = ("127.0.0.1", "localhost")
MAX_BODY_BYTES = 64 * 1024
"""A text has at most 2,000 characters; an answer is a few spans of it."""

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_TOKEN_HEADER = "x-kickwheel-token"  # noqa: S105 - the header's name
_NAME: TypeAdapter[str] = TypeAdapter(ReviewerName)
Handler = Callable[[Request], Awaitable[Response]]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reviewer: ReviewerName


class _Span(BaseModel):
    name: str = Field(max_length=64)
    start: int
    end: int


class _AnswerForm(_Form):
    """An answer as the page sends it. Offsets are code points."""

    id: str
    text: str = Field(max_length=2000)
    decision: Decision | None = None
    intent: str | None = None
    slots: tuple[_Span, ...] = Field(default=(), max_length=100)


def review_app(desk: Desk, *, title: str, token: str) -> Starlette:
    """The page and what it calls.

    Args:
        token: the page's secret, new for each start of the server.
    """
    page = files("kickwheel.review") / "page"

    async def index(request: Request) -> Response:
        html = (page / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(html.replace("{{token}}", escape(token)).replace("{{title}}", escape(title)))

    async def tasks(request: Request) -> Response:
        intents = [
            {
                "name": task.intent,
                "description": task.description,
                "slots": [slot.model_dump(include={"name", "type", "description", "values"}) for slot in task.slots],
            }
            for task in desk.catalog.tasks
        ]
        return JSONResponse([*intents, {"name": OUT_OF_SCOPE, "description": "", "slots": []}])

    async def next_row(request: Request) -> Response:
        name = _NAME.validate_python(request.query_params.get("reviewer", ""))
        return _json(await run_in_threadpool(desk.view, name))

    async def answer(request: Request) -> Response:
        form = _AnswerForm.model_validate_json(await request.body())
        frame = _frame(form) if form.intent is not None else None
        return _json(await run_in_threadpool(desk.answer, form.reviewer, (form.id, form.text), form.decision, frame))

    async def undo(request: Request) -> Response:
        form = _Form.model_validate_json(await request.body())
        return _json(await run_in_threadpool(desk.undo, form.reviewer))

    async def status(request: Request) -> Response:
        told = await run_in_threadpool(desk.status)
        figures = told.model_dump(mode="json", exclude={"conflicts"})  # what others answered stays theirs
        return JSONResponse({**figures, "conflicts": len(told.conflicts)})

    async def export(request: Request) -> Response:
        rows = await run_in_threadpool(desk.export)
        return PlainTextResponse("".join(row.model_dump_json() + "\n" for row in rows), media_type="application/x-ndjson")

    ours = _same_page_only(token)
    return Starlette(
        routes=[
            Route("/", index),
            Route("/api/tasks", ours(tasks)),
            Route("/api/next", ours(next_row)),
            Route("/api/answer", ours(answer), methods=["POST"]),
            Route("/api/undo", ours(undo), methods=["POST"]),
            Route("/api/status", ours(status)),
            Route("/api/export", ours(export)),
            Mount("/static", StaticFiles(directory=str(page))),
        ],
        middleware=[
            Middleware(_SafeHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
            Middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BODY_BYTES),
        ],
        exception_handlers={ValidationError: _bad_form, InputError: _bad_answer},
    )


def _same_page_only(token: str) -> Callable[[Handler], Handler]:
    def guard(handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            origin = request.headers.get("origin")
            own = f"{request.url.scheme}://{request.headers.get('host', '')}"
            held = request.headers.get(_TOKEN_HEADER, "").encode()
            if not hmac.compare_digest(held, token.encode()) or origin not in (None, own):
                raise HTTPException(403, "This is not the page that this server gave out: reload it.")
            return await handler(request)

        return guarded

    return guard


class _SafeHeaders:
    """Headers that keep a browser from running, framing or keeping what it should not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def _frame(form: _AnswerForm) -> Frame:
    """The label of a form; white space at the ends of a mark is left out.

    Raises:
        InputError: a mark lies outside the text.
        ValidationError: marks overlap, or a name is none.
    """
    slots = sorted((tightened(form.text, span.name, span.start, span.end) for span in form.slots), key=lambda slot: slot.start)
    return Frame(intent=form.intent or "", slots=tuple(slots))


def _json(view: BaseModel) -> Response:
    return JSONResponse(view.model_dump(mode="json"))


async def _bad_form(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    return JSONResponse({"error": f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"}, status_code=422)


async def _bad_answer(request: Request, error: Any) -> Response:
    return JSONResponse({"error": error.message}, status_code=422)
