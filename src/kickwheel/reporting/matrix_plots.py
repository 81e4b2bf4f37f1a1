"""Plots of squares: which intents are confused, and where the labels are missing (the white paper's F1 heat map)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from kickwheel.reporting.palette import LIGHT
from kickwheel.reporting.svg import WIDTH, draw
from kickwheel.reporting.wording import LANGUAGES
from schemas.frame import OUT_OF_SCOPE
from schemas.quality import Evaluation
from schemas.seeding import CoverageCell
from schemas.task import TaskCatalog

UNPARSABLE: Final = "unparsable"
THIN: Final = 5
"""A square with fewer labelled rows than this is where the wheel is stuck."""


def confusion_matrix(evaluation: Evaluation) -> str:
    """Gold intents against predicted ones, in rows; shaded by the share of the gold intent's rows."""
    confusion = evaluation.confusion
    gold = _ordered(confusion)
    predicted = [*_ordered({*gold, *(name for row in confusion.values() for name in row if name != UNPARSABLE)}), UNPARSABLE]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for y, intent in enumerate(gold):
            total = sum(confusion[intent].values()) or 1
            for x, answer in enumerate(predicted):
                rows = confusion[intent].get(answer, 0)
                colour = "red" if answer == UNPARSABLE else "blue" if answer == intent else "orange"
                _square(axes, x, y, rows, colour, rows / total, show_zero=False)
        _label(axes, predicted, gold)
        axes.set_xlabel("predicted")
        axes.set_ylabel("gold")

    size = max(WIDTH, 0.25 * len(predicted) + 1.7), 0.26 * len(gold) + 1.9
    return draw("confusion", _confusion_title(evaluation, gold), size, paint)


def _confusion_title(evaluation: Evaluation, gold: Sequence[str]) -> str:
    confusion = evaluation.confusion
    rows = sum(sum(row.values()) for row in confusion.values())
    right = sum(confusion[intent].get(intent, 0) for intent in gold)
    wrong = [(n, intent, answer) for intent in gold for answer, n in confusion[intent].items() if answer != intent and n > 0]
    said = f"{right} of {rows} intents right on {evaluation.split}"
    if not wrong:
        return said
    n, intent, answer = max(wrong)
    told = "gives no readable frame" if answer == UNPARSABLE else f"is read as {answer}"
    return f"{said}; most often {intent} {told} ({n} rows)"


def coverage_squares(cells: Iterable[CoverageCell], catalog: TaskCatalog | None) -> dict[tuple[str, str], dict[str, int]]:
    """Labelled rows by (intent, slot) and language. A slot of the catalogue that no row fills is a square of zero rows."""
    squares: dict[tuple[str, str], dict[str, int]] = {}
    for task in catalog.tasks if catalog else ():
        for slot in task.slots:
            squares[task.intent, slot.name] = {}
    for cell in cells:
        square = squares.setdefault((cell.intent, cell.slot), {})
        square[cell.language] = square.get(cell.language, 0) + cell.rows
    intents = _ordered({intent for intent, _ in squares})
    return {key: squares[key] for key in sorted(squares, key=lambda key: (intents.index(key[0]), key[1]))}


def coverage_heat_map(cells: Sequence[CoverageCell], catalog: TaskCatalog | None = None) -> str:
    """Labelled rows, a line an intent and slot, a column a language."""
    squares = coverage_squares(cells, catalog)
    languages = sorted({cell.language for cell in cells}) or ["en"]
    shade = math.log1p(max((rows for square in squares.values() for rows in square.values()), default=0)) or 1.0

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for y, square in enumerate(squares.values()):
            for x, language in enumerate(languages):
                rows = square.get(language, 0)
                _square(axes, x, y, rows, "blue", math.log1p(rows) / shade, show_zero=True)
        _label(
            axes,
            [LANGUAGES.get(language, language) for language in languages],
            [f"{intent} · {slot}" for intent, slot in squares],
            upright=True,
        )
        for y, (above, below) in enumerate(zip(list(squares), list(squares)[1:], strict=False), start=1):
            if above[0] != below[0]:
                axes.axhline(y - 0.5, color=LIGHT["muted"], linewidth=0.5)

    return draw("coverage", _coverage_title(squares, languages), (WIDTH, 0.2 * len(squares) + 0.5), paint)


def _coverage_title(squares: dict[tuple[str, str], dict[str, int]], languages: Sequence[str]) -> str:
    counted = [(square.get(lang, 0), lang, *key) for key, square in squares.items() for lang in languages]
    thin = sum(rows < THIN for rows, *_ in counted)
    if not thin:
        return f"All {len(counted)} squares have at least {THIN} labelled rows"
    empty = sum(rows == 0 for rows, *_ in counted)
    return f"Where the wheel is stuck: {thin} of {len(counted)} squares have fewer than {THIN} labelled rows, {empty} have none"


def _ordered(intents: Iterable[str]) -> list[str]:
    """By name, out_of_scope last."""
    return sorted(intents, key=lambda intent: (intent == OUT_OF_SCOPE, intent))


def _square(axes: Axes, x: int, y: int, rows: int, colour: str, share: float, *, show_zero: bool) -> None:
    """A filled square with its count; an outlined one for a zero that matters."""
    alpha = 0.1 + 0.9 * share
    if rows:
        axes.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, facecolor=LIGHT[colour], alpha=alpha, linewidth=0))
    elif show_zero:
        axes.add_patch(Rectangle((x - 0.46, y - 0.42), 0.92, 0.84, facecolor="none", edgecolor=LIGHT["red"], linewidth=0.8))
    if rows or show_zero:
        ink = LIGHT["red"] if not rows else LIGHT["on_fill"] if alpha > 0.6 else LIGHT["ink"]
        axes.text(x, y, str(rows), ha="center", va="center_baseline", fontsize=8, color=ink)


def _label(axes: Axes, columns: Sequence[str], lines: Sequence[str], *, upright: bool = False) -> None:
    """Names of columns and lines; no frame, no ticks."""
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_yticks(range(len(lines)), lines, fontsize=8)
    if upright:
        axes.set_xticks(range(len(columns)), columns, fontsize=8.5)
        axes.xaxis.tick_top()
    else:
        axes.set_xticks(range(len(columns)), columns, fontsize=8, rotation=40, ha="right", rotation_mode="anchor")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
