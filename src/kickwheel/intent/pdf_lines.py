"""From printed lines back to paragraphs. A PDF knows no paragraphs, only what is printed where.

A line goes on in the next one where that one's first word would not have fitted on it any more; what is printed larger than
most is a heading; what begins with a bullet or a number is a list item.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

_ITEM = re.compile(r"(?:[-•‣▪◦●○■□·–—\uf0b7\uf0a7]|\*(?!/|\s+[\d*])|\d+[.)、])\s*(?=\D)")
"""U+F0B7 and U+F0A7 are the bullets of Word's symbol fonts."""
_MARKS = re.compile(r"([\\`*_\[\]<>#|~])")
_LARGER = 1.15
"""A line whose letters are larger than the usual ones by this factor is a heading."""
_INDENT = 3.0
"""Points by which a nested item is indented at least."""
_SPACED = 0.8
"""Share of a line's height that stays free between two paragraphs."""
_EDGE = 2
"""So many lines at each end of a page may be running heads, feet and page numbers."""
_RUNNING = 0.4
"""They stand on a larger share of the pages than this: left and right pages may have different ones."""
_FULL = 0.75
"""A line that reaches this share of the page's width shows where the right margin is."""


@dataclass(frozen=True)
class PrintedLine:
    """A line of text and its box in points, from the page's upper left corner."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    """Of its letters, in points."""


@dataclass(frozen=True)
class PrintedTable:
    """Rows of cells, the header first."""

    top: float
    rows: list[list[str]]


Page = Sequence[PrintedLine | PrintedTable]
"""From top to bottom."""


def to_blocks(pages: Sequence[Page], widths: Sequence[float]) -> list[str]:
    """Markdown blocks of all pages, to be joined by blank lines. Running heads and feet are left out."""
    sizes = [item.size for page in pages for item in page if isinstance(item, PrintedLine)]
    blocks = _Blocks(usual=median(sizes) if sizes else 0.0)
    for page, width in zip(_without_running_lines(pages), widths, strict=True):
        blocks.add(page, _right_margin([item for item in page if isinstance(item, PrintedLine)], width))
    return blocks.texts


@dataclass
class _Blocks:
    """What was read so far."""

    usual: float
    """Size of most lines."""
    texts: list[str] = field(default_factory=list)
    before: PrintedLine | None = None
    """The line that may go on in the next one."""
    indents: list[float] = field(default_factory=list)
    """Left edges of the list items that the next one may be nested in."""

    def add(self, page: Page, right: float) -> None:
        """Read one more page. A paragraph may go on from the page before."""
        for number, item in enumerate(page):
            if isinstance(item, PrintedTable):
                self._start(_table(item), None)
            elif item.size > self.usual * _LARGER:
                self._start(f"## {_escaped(item.text)}", None)
            elif found := _ITEM.match(item.text):
                indents = [*(indent for indent in self.indents if indent + _INDENT < item.x0), item.x0]
                self._start(f"{'  ' * (len(indents) - 1)}- {_escaped(item.text[found.end() :])}", item)
                self.indents = indents
            elif self.before and _goes_on(self.before, item, right, new_page=number == 0):
                self.texts[-1] += f"\n{_escaped(item.text)}"
                self.before = item
            else:
                self._start(_escaped(item.text), item)

    def _start(self, text: str, line: PrintedLine | None) -> None:
        self.texts.append(text)
        self.before, self.indents = line, []


def _without_running_lines(pages: Sequence[Page]) -> list[Page]:
    """Pages without their running heads, feet and numbers: the same words, whatever their figures, at the same height."""

    def key(item: PrintedLine | PrintedTable) -> tuple[int, str]:
        return round(item.top), re.sub(r"\d+", "0", item.text) if isinstance(item, PrintedLine) else ""

    edges = [{key(item) for item in (*page[:_EDGE], *page[-_EDGE:]) if isinstance(item, PrintedLine)} for page in pages]
    counted = Counter(place for edge in edges for place in edge)
    running = {place for place, count in counted.items() if count > max(1.0, len(pages) * _RUNNING)}
    return [
        [item for number, item in enumerate(page) if key(item) not in running or _EDGE <= number < len(page) - _EDGE]
        for page in pages
    ]


def _right_margin(lines: Sequence[PrintedLine], width: float) -> float:
    """Where lines end that were broken: at the longest one, or as far from the edge as on the left."""
    if not lines:
        return width
    longest = max(line.x1 for line in lines)
    return longest if longest >= _FULL * width else width - min(line.x0 for line in lines)


def _goes_on(line: PrintedLine, following: PrintedLine, right: float, *, new_page: bool) -> bool:
    height = line.bottom - line.top
    if not new_page and following.top - line.bottom > _SPACED * height:
        return False
    first = following.text[0] if following.text[0] > "⺀" else following.text.split()[0]
    per_letter = (following.x1 - following.x0) / len(following.text)
    return line.x1 + per_letter * (len(first) + 1) > right


def _table(table: PrintedTable) -> str:
    rows = [[_escaped(cell) for cell in row] for row in table.rows]
    ruled = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in ruled)


def _escaped(text: str) -> str:
    """Text that Markdown reads as it stands."""
    return re.sub(r"^([-+=])", r"\\\1", _MARKS.sub(r"\\\1", text))
