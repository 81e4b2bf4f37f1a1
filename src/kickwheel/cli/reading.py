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
    bar = Progress(console=messages(), transient=True)
    reading = bar.add_task("statements that the model has read")

    def show(done: int, total: int) -> None:
        bar.start()
        bar.update(reading, completed=done, total=total)

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def refusals() -> Iterator[None]:
    """Bad input and a model that does not answer end the command as everywhere: with exit code 2, so that 1 is a result."""
    try:
        yield
    except InputError as error:
        raise typer.Exit(fail(error)) from None
    except ServiceError as error:
        code = fail(error)
        messages().print("--recogniser rules reads without a model")
        raise typer.Exit(code) from None
