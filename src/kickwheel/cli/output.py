"""How commands speak: results on stdout, everything else on stderr."""

from __future__ import annotations

from rich.console import Console

from kickwheel.errors import KickwheelError


def messages() -> Console:
    """Console for progress, notes and errors (stderr)."""
    return Console(stderr=True, highlight=False)


def results() -> Console:
    """Console for what was asked for (stdout)."""
    return Console(highlight=False)


def fail(error: KickwheelError) -> int:
    """Print an error of our own tree; returns the exit code."""
    messages().print(f"[bold red]error[/] ({type(error).__name__}): ", end="")
    messages().print(str(error), markup=False, soft_wrap=True)
    return 2
