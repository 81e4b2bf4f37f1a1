"""``kickwheel init``: a new domain that works."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.output import fail, messages
from kickwheel.errors import InputError


def command(
    name: Annotated[str, typer.Argument(help="Name of the domain: lower-case letters, digits and _")],
    into: Annotated[Path, typer.Option(help="Folder that the domain's folder is made in")] = Path("."),
) -> None:
    """Write a small domain to start from: two intents, a few rows, every file that a lap needs. Prints its folder.

    Examples:

        kickwheel init support_desk

        kickwheel init support_desk --into domains
    """
    from kickwheel.domain import scaffold_domain

    try:
        folder = scaffold_domain(name, into)
    except InputError as error:
        fail(error)
        raise typer.Exit(1) from None
    messages().print(
        "Write your requirements and rows, then:", f"kickwheel check {folder}", f"kickwheel run {folder}", sep="\n  "
    )
    sys.stdout.write(f"{folder}\n")
