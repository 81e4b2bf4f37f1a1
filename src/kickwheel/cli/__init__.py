"""The command line, one file a command. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

from kickwheel import __version__
from kickwheel.cli import (
    ab,
    check,
    check_adapter,
    deploy,
    distill,
    doctor,
    engine,
    feedback,
    history,
    init,
    intent,
    promote,
    review,
    rollback,
    run,
    seed,
    serve,
    serve_model,
    settings,
    throughput,
    tune,
    up,
)
from kickwheel.cli.output import fail
from kickwheel.errors import KickwheelError
from kickwheel.workspace import disk_full

app = typer.Typer(
    name="kickwheel",
    help="A data flywheel for LLM task understanding, from a requirements document to a served, measured model.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("run")(run.command)
app.command("tune")(tune.command)
app.command("up")(up.command)
app.command("deploy")(deploy.command)
app.command("serve-model")(serve_model.command)
app.command("serve")(serve.command)
app.command("distill")(distill.command)
app.command("ab")(ab.command)
app.command("promote")(promote.command)
app.command("rollback")(rollback.command)
app.command("history")(history.command)
app.command("init")(init.command)
app.command("check")(check.command)
app.command("throughput")(throughput.command)
app.command("check-adapter")(check_adapter.command)
app.command("doctor")(doctor.command)
app.command("settings")(settings.command)
app.add_typer(feedback.app, name="feedback")
app.add_typer(engine.app, name="engine")
app.add_typer(intent.app, name="intent")
app.add_typer(review.app, name="review")
app.add_typer(seed.app, name="seed")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kickwheel {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before every command."""


def main() -> None:
    """Entry point: an error of our own tree becomes one clear message and exit code 2, never a traceback."""
    try:
        app()
    except KickwheelError as error:
        sys.exit(fail(error))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.exit(fail(disk_full(error.filename or "a file")))
