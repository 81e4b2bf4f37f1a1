"""What commands that read statements share: progress where a model reads along, and how they end where they can't."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.progress import Progress

from kickwheel.cli.output import fail, messages
from kickwheel.errors import InputError, ServiceError


@contextmanager
def reading_progress() -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total) that draws a bar on stderr, if it is ever called."""
    with Progress(console=messages(), transient=True) as bar:
        reading = bar.add_task("statements that the model has read", visible=False)
        yield lambda done, total: bar.update(reading, completed=done, total=total, visible=True)


@contextmanager
def refusals() -> Iterator[None]:
    """Bad input and a model that does not answer end the command with exit code 1."""
    try:
        yield
    except InputError as error:
        fail(error)
        raise typer.Exit(1) from None
    except ServiceError as error:
        fail(error)
        messages().print("--recogniser rules reads without a model")
        raise typer.Exit(1) from None
