"""What routes are given: the service, and the caller if it may come in."""

from __future__ import annotations

import math
from typing import Annotated, cast

from fastapi import Depends, HTTPException, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from kickwheel.serving.access import CallerLimits, Tokens
from kickwheel.serving.metrics import ServiceMetrics
from kickwheel.serving.service import UnderstandingService

BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A configured token; without any configured, the service is for this machine",
)
EVERYBODY = "everybody"
"""The caller where no token is configured."""


async def the_service(request: Request) -> UnderstandingService:
    """The application's service. A coroutine, or every request would wait for a thread."""
    return cast(UnderstandingService, request.app.state.service)


async def the_metrics(request: Request) -> ServiceMetrics:
    """The application's metrics."""
    return cast(ServiceMetrics, request.app.state.metrics)


async def allowed(
    request: Request, scopes: SecurityScopes, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]
) -> str:
    """The caller's name.

    Raises:
        HTTPException: 401 no valid token, 403 not its scope, 429 too often.
    """
    tokens, limits = cast(Tokens, request.app.state.tokens), cast(CallerLimits, request.app.state.limits)
    caller = EVERYBODY
    if tokens:
        grant = tokens.grant_of(credentials.credentials) if credentials else None
        if grant is None:
            raise HTTPException(401, "Send Authorization: Bearer TOKEN with a configured token", {"WWW-Authenticate": "Bearer"})
        caller = grant.name
        if missing := set(scopes.scopes) - grant.scopes:
            wanted = " ".join(sorted(missing))
            told = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{wanted}"'}
            raise HTTPException(403, f"The token {caller!r} lacks the scope {wanted}: ask for one that has it", told)
    request.state.caller = caller
    if wait := limits.wait(caller):
        seconds = math.ceil(wait)
        raise HTTPException(429, f"Too often: come back in {seconds} s", {"Retry-After": str(seconds)})
    return caller


Service = Annotated[UnderstandingService, Depends(the_service)]
Metrics = Annotated[ServiceMetrics, Depends(the_metrics)]
MAY_UNDERSTAND = Security(allowed, scopes=["understand"])
MAY_GIVE_FEEDBACK = Security(allowed, scopes=["feedback"])
MAY_ADMINISTER = Security(allowed, scopes=["admin"])
