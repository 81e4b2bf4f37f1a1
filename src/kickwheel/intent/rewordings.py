"""Other ways to write a statement that mean the same, for when the rules can't read it as it stands.

A row of a table becomes a sentence of its cells; parts that say nothing a task can hold are set aside, and the task is flagged
with them: a person reads them before anything is deployed. The rules must explain every word of what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kickwheel.intent.glossary import Glossary
from kickwheel.intent.unread import is_idle, without_unread

_CELLS = re.compile(r"\s*\|\s*|\s+/\s+|(?<=[\u4e00-\u9fff])/(?=[\u4e00-\u9fff])|\t+")
_LABEL = re.compile(r"#?\s*(?:[A-Z]{1,6}[-_ ]?)?\d{1,5}[.)]?", re.ASCII)
_FEWEST = 3
"""Cells that make a row; two may be a sentence with a stroke in it."""


def rewordings(text: str, glossary: Glossary) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts to read instead, the closest first, each with what was set aside of the statement."""
    row = _row(text, glossary)
    if row:
        yield row
        text = row[0]
    shorter, unread = without_unread(text, glossary)
    if unread:
        yield shorter, (*unread, *(row[1] if row else ()))


def _row(text: str, glossary: Glossary) -> tuple[str, tuple[str, ...]] | None:
    cells = [cell for cell in _CELLS.split(text.strip("| ")) if cell.strip()]
    if len(cells) < _FEWEST or sum(bool(glossary.action_pattern.search(cell)) for cell in cells) != 1:
        return None
    if _LABEL.fullmatch(cells[0]):
        cells = cells[1:]
    idle = tuple(cell for cell in cells if is_idle(cell, glossary))
    return ", ".join(cell for cell in cells if cell not in idle), idle
