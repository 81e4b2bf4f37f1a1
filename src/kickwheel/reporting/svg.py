"""From a matplotlib figure to SVG text that follows the page's colours, scales, and can stand in HTML beside others.

No pyplot and no lasting global state: a figure object, drawn under a temporary style. Texts stay texts (the browser
picks the font), so a Chinese label is right whatever fonts this machine has; an installed CJK font only improves the
room that is kept for it.
"""

from __future__ import annotations

import io
import re
import textwrap
import threading
import warnings
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any, Final

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kickwheel.reporting.palette import LIGHT, css_variables

WIDTH: Final = 5.0
"""Usual width in inches: labels of 9 points stay readable where a phone shrinks the figure to 360 pixels."""

_CJK_FONTS: Final = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Microsoft YaHei",
    "SimHei",
    "Droid Sans Fallback",
)
_FONT_STACK: Final = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans SC', sans-serif"
)
_LOCK = threading.Lock()  # matplotlib's style and the warning filters are global to the process


def draw(name: str, title: str, size: tuple[float, float], paint: Callable[[Figure], None]) -> str:
    """Draw a figure and return it as a standalone SVG document.

    Args:
        name: prefix of every id in the SVG, so that several can stand in one page.
        title: the finding, said in a sentence; also the text for readers who cannot see the plot.
        size: width and height in inches; the height grows with the lines of the title.
        paint: adds axes and marks to the figure.
    """
    unbroken = re.sub(r"(?<=\d) (?=%|s\b|req/s)", "\u00a0", title)
    lines = textwrap.wrap(unbroken, width=int(size[0] * 11.5)) or [""]
    with _LOCK, matplotlib.rc_context(_style(name)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = Figure(figsize=(size[0], size[1] + 0.19 * len(lines)), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle("\n".join(lines), x=0.012, ha="left", fontsize=10.5, fontweight="bold")
        paint(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _themed(buffer.getvalue(), name, title)


def quiet(axes: Axes, *, grid: str = "y") -> None:
    """Only the lines that help reading: no box, a faint grid along one axis ('x', 'y') or none ('')."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["muted"])
    axes.tick_params(length=0)
    axes.set_axisbelow(True)
    if grid == "x":
        axes.grid(axis="x")
    elif grid == "y":
        axes.grid(axis="y")


def inline(document: str) -> str:
    """The ``<svg>`` element of a document, for HTML."""
    return document[document.index("<svg") :]


def _style(name: str) -> dict[Any, Any]:
    ink, muted = LIGHT["ink"], LIGHT["muted"]
    return {
        "font.family": ["DejaVu Sans", *_installed_cjk_font()],
        "font.size": 9,
        "text.color": ink,
        "text.parse_math": False,
        "axes.edgecolor": muted,
        "axes.labelcolor": muted,
        "axes.titlecolor": ink,
        "axes.facecolor": "none",
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "xtick.color": muted,
        "ytick.color": muted,
        "grid.color": LIGHT["grid"],
        "grid.linewidth": 0.8,
        "figure.facecolor": LIGHT["surface"],
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "svg.fonttype": "none",
        "svg.hashsalt": name,
    }


@cache
def _installed_cjk_font() -> tuple[str, ...]:
    installed = set(font_manager.get_font_names())
    return next(((font,) for font in _CJK_FONTS if font in installed), ())


def _themed(document: str, name: str, title: str) -> str:
    """Unique ids, colours as custom properties, the system's font, a label for screen readers."""
    document = re.sub(r'\bid="', f'id="{name}-', document)
    document = re.sub(r'href="#', f'href="#{name}-', document)
    document = re.sub(r"url\(#", f"url(#{name}-", document)
    document = re.sub(r"'DejaVu Sans'[^;\"]*", _FONT_STACK, document)
    for colour, light in LIGHT.items():
        document = document.replace(f": {light}", f": var(--kw-{colour}, {light})")
    style = f"<style>{css_variables('svg.kw-plot')}</style>"
    head = f'<svg class="kw-plot" role="img" aria-label="{escape(title, quote=True)}" '
    start = document.index("<svg")
    end = document.index(">", start) + 1
    return document[:start] + head + document[start + len("<svg ") : end] + style + document[end:]
