"""``kickwheel review wait`` and ``resume``: a flow run that waits for people, and the word that lets it go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import messages


def wait(
    domain: Annotated[Path, typer.Argument(help="Folder of the domain")],
    lap: Annotated[int, typer.Option(min=0, help="Lap number; 0 is the unfinished one")] = 0,
) -> None:
    """Wait here until the review is done, then run seeding with the answers. Exit code 1 where nobody came in time.

    Examples:

        kickwheel review wait examples/dataops
    """
    from kickwheel.domain import load_domain

    prepare(load_domain(domain).resolved_settings().home)
    from kickwheel.cli.launcher import wait_for_review

    ended = wait_for_review(str(domain), lap)
    messages().print(ended.message or ended.state, markup=False, soft_wrap=True)
    if ended.state != "Completed":
        raise typer.Exit(1)


def resume(
    flow_run: Annotated[str, typer.Argument(help="Id or name of the flow run that waits")],
    reviewer: Annotated[str, typer.Option(help="Who says that the review is done")],
    take_open: Annotated[bool, typer.Option("--take-open", help="Go on although rows are still open")] = False,
) -> None:
    """Let a flow run that waits for review go on with the answers that there are. Doing it twice is harmless.

    Examples:

        kickwheel review resume fierce-lynx --reviewer ana

        kickwheel review resume fierce-lynx --reviewer ana --take-open
    """
    from kickwheel.settings import get_settings

    prepare(get_settings().home)
    from kickwheel.cli.launcher import resume_review

    messages().print(resume_review(flow_run, reviewer, take_open=take_open), markup=False, soft_wrap=True)
