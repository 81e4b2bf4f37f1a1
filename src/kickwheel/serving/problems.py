"""Errors as RFC 9457 problem details: one form for all, saying what was wrong and what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kickwheel.errors import AnswerTimeout, InputError, KickwheelError, RateLimited, ServiceError, is_transient
from schemas.understanding import Problem

MEDIA_TYPE = "application/problem+json"

TITLES: Mapping[int, tuple[str, str]] = {
    400: ("bad-request", "The request is no request of this API"),
    401: ("token-missing", "No valid token"),
    403: ("scope-missing", "The token may not do this"),
    404: ("not-found", "There is nothing here"),
    405: ("method-not-allowed", "This path takes other methods"),
    413: ("too-large", "The request is too large"),
    415: ("media-type", "The body is not JSON"),
    422: ("does-not-hold", "The request does not hold"),
    429: ("too-many", "Too many requests"),
    500: ("failed", "The service failed"),
    502: ("model-refused", "The model server refused"),
    503: ("not-available", "No version is available"),
    504: ("too-late", "The version did not answer in time"),
}
"""Kind and title by status. A kind never changes: callers may go by it."""


def problem(status: int, detail: str, request_id: str, errors: tuple[str, ...] = ()) -> Problem:
    """The problem of a status."""
    kind, title = TITLES.get(status, ("error", "An error"))
    return Problem(type=f"/problems/{kind}", title=title, status=status, detail=detail, request_id=request_id, errors=errors)


def status_of(error: KickwheelError) -> int:
    """The status that an error of a version or store becomes: 422 the input, 504 too late, 503 try again, 502 it refused."""
    if isinstance(error, InputError):
        return 422
    if isinstance(error, AnswerTimeout):
        return 504
    if isinstance(error, ServiceError):
        return 503 if is_transient(error) else 502
    return 500


def advice(status: int) -> str:
    """What a caller can do about an error that is not theirs; the cause is in the log, not in the answer."""
    return {
        502: "The model server refused the question: the service's log says why, under this request's id.",
        503: "Ask again in a moment; /readyz says when the service is ready.",
        504: "Ask again, or raise KICKWHEEL_SERVING__TIMEOUT_S.",
    }.get(status, "The service's log says more, under this request's id.")


def retry_seconds(error: KickwheelError) -> int:
    """Whole seconds after which asking again makes sense."""
    wait = error.retry_after if isinstance(error, RateLimited) else None
    return max(1, math.ceil(wait or 1.0))


def openapi_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These problems in an OpenAPI description."""
    schema = Problem.model_json_schema()
    return {
        status: {"description": TITLES[status][1], "content": {MEDIA_TYPE: {"schema": schema}}} for status in sorted(statuses)
    }
