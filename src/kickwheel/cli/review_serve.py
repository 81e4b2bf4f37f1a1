"""``kickwheel review serve``: the review page on this machine."""

from __future__ import annotations

import contextlib
import secrets
import socket
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.output import messages, results
from kickwheel.errors import InputError

HOST = "127.0.0.1"
"""Never another address: the page asks for no password."""


def command(
    domain: Annotated[Path, typer.Argument(help="Folder of the domain")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: a free one")] = 8400,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser")] = True,
) -> None:
    """Open the review page: label rows by keyboard, alone or with others. Ctrl-C ends it; every answer is on disk already.

    Examples:

        kickwheel review examples/dataops

        kickwheel review serve examples/dataops --port 8401 --no-browser
    """
    import uvicorn

    from kickwheel.domain import load_domain
    from kickwheel.review.desk import Desk
    from kickwheel.review.page_adapter import review_app
    from kickwheel.review.queue import DomainReview

    found = load_domain(domain)
    settings = found.resolved_settings()
    review = DomainReview(found, settings.home)
    desk = Desk(review, review.catalog, overlap=settings.review.overlap, clock=lambda: datetime.now(UTC))
    app = review_app(desk, title=found.title, token=secrets.token_urlsafe(32))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise InputError(f"port {port} cannot be had ({error.strerror}): choose another, or 0", field="--port") from error
        address = f"http://{HOST}:{listener.getsockname()[1]}"
        results().print(f"review page  {address}", soft_wrap=True)
        messages().print(f"answers go to {review.log.path}; Ctrl-C ends the page", markup=False, soft_wrap=True)
        if browser:
            webbrowser.open(address)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", server_header=False))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
