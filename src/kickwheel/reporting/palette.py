"""The report's colours, each once for light and once for dark pages.

Plots are drawn in the light colours; ``svg.py`` turns each into ``var(--kw-NAME, LIGHT)``, so that the same SVG follows
the reader's colour scheme. Two colours that mean different things therefore never share a light value. The line colours
are told apart with any common colour blindness, and have at least 4.5:1 against their surface.
"""

from __future__ import annotations

from typing import Final

COLOURS: Final[dict[str, tuple[str, str]]] = {
    "page": ("#f5f6f8", "#111418"),
    "surface": ("#ffffff", "#1a1e23"),
    "ink": ("#1b2026", "#e7eaee"),
    "muted": ("#59626e", "#a3adb9"),
    "grid": ("#e1e5ea", "#30363e"),
    "blue": ("#0b62a8", "#74b6f2"),
    "orange": ("#b04a00", "#f2a65e"),
    "grey": ("#6d7580", "#9aa3ae"),
    "red": ("#b3261e", "#ff8d80"),
    "green": ("#18703f", "#66cc94"),
    "on_fill": ("#fefefe", "#0e1318"),
    "warn_surface": ("#fdecea", "#3a1d1b"),
    "good_surface": ("#e6f4ec", "#15301f"),
    "note_surface": ("#eef2f7", "#222a33"),
}

LIGHT: Final[dict[str, str]] = {name: light for name, (light, _) in COLOURS.items()}


def css_variables(selector: str) -> str:
    """Custom properties for ``selector``, light by default and dark where the reader prefers that."""
    light = "".join(f"--kw-{name}:{pair[0]};" for name, pair in COLOURS.items())
    dark = "".join(f"--kw-{name}:{pair[1]};" for name, pair in COLOURS.items())
    return f"{selector}{{{light}}}@media (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
