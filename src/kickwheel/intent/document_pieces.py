"""A document's text in pieces: paragraphs, list items, table rows and field lines, each with the lines that it stands on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

FieldName = Literal["intent", "description", "slots", "zone", "schedule", "qualifier", "phrasings"]
KEYS: dict[str, FieldName] = {
    "intent": "intent", "意图": "intent",
    "description": "description", "meaning": "description", "说明": "description", "描述": "description", "含义": "description",
    "slots": "slots", "parameters": "slots", "槽位": "slots", "参数": "slots",
    "zone": "zone", "time zone": "zone", "timezone": "zone", "时区": "zone",
    "schedule": "schedule", "when": "schedule", "cron": "schedule",
    "执行时间": "schedule", "时间": "schedule", "频率": "schedule", "调度": "schedule",
    "qualifier": "qualifier", "限定": "qualifier",
    "examples": "phrasings", "example": "phrasings", "phrasings": "phrasings",
    "示例": "phrasings", "例句": "phrasings", "说法": "phrasings",
}  # fmt: skip
_STATEMENT_COLUMNS = {"requirement", "requirements", "statement", "task", "what", "需求", "任务", "要求", "语句"}
FIELD_LINE = re.compile(rf"\s*({'|'.join(KEYS)})\s*[:：]\s*(\S.*)", re.IGNORECASE)
_LIST_HEAD = re.compile(rf"({'|'.join(key for key, name in KEYS.items() if name == 'phrasings')})\s*[:：]", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-•·]|\*(?!/|\s+[\d*])|\d+[.)、])\s*(?=\D)")
"""What stands before a list item; not the star that a cron expression begins with."""


@dataclass(frozen=True)
class Piece:
    """Text that belongs together."""

    text: str
    lines: list[tuple[int, int]]
    """Offset in the text and line (from 0) that begins there."""
    fields: dict[FieldName, str] = field(default_factory=dict)
    """What a table row says about it."""
    unread: tuple[str, ...] = ()
    """Cells of a table row beside its requirement, in columns that no name explains."""
    depth: int = 0
    """How deep it is nested in lists."""
    heading: int = 0
    """Level of a heading; 0: it is none."""

    def line_at(self, offset: int) -> int:
        """Line of an offset."""
        return [line for start, line in self.lines if start <= offset][-1]


def with_listed_phrasings(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """A list below ``Examples:`` becomes one field line: its items are what users say, not statements."""
    head: Piece | None = None
    listed: list[str] = []
    for piece in [*pieces, None]:
        if piece and head and piece.depth > head.depth and not FIELD_LINE.fullmatch(piece.text):
            listed.append(piece.text.rstrip(";；"))
            continue
        if head:
            yield replace(head, text=f"{head.text} {'; '.join(listed)}".strip())
        head, listed = (piece if piece and _LIST_HEAD.fullmatch(piece.text) else None), []
        if piece and not head:
            yield piece


def text_pieces(body: str) -> Iterator[Piece]:
    for number, line in enumerate(body.splitlines()):
        content = _BULLET.sub("", line).strip()
        if content:
            is_item = bool(_BULLET.match(line))
            yield Piece(content, [(0, number)], depth=len(line) - len(line.lstrip()) + is_item)


def markdown_pieces(body: str) -> Iterator[Piece]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(body)
    quoted, index = 0, 0
    while index < len(tokens):
        token = tokens[index]
        quoted += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "table_open":
            end = next(place for place in range(index, len(tokens)) if tokens[place].type == "table_close")
            if not quoted:
                yield from _table_rows(tokens[index:end])
            index = end
        elif token.type == "inline" and not quoted:
            opened = tokens[index - 1]
            if opened.type == "heading_open":
                yield Piece(_plain(token).strip(), [(0, token.map[0] if token.map else 0)], heading=int(opened.tag[1:]))
            else:
                yield from _inline_pieces(token)
        index += 1


def _inline_pieces(token: Token) -> Iterator[Piece]:
    """A paragraph or list item. Lines that just wrap are one; a field line stands for itself."""
    first = token.map[0] if token.map else 0
    text, lines = "", list[tuple[int, int]]()
    for number, line in enumerate(_plain(token).split("\n"), start=first):
        line = line.strip()
        if text and (FIELD_LINE.fullmatch(line) or FIELD_LINE.fullmatch(text)):
            yield Piece(text, lines, depth=token.level)
            text, lines = "", []
        if text and text[-1] < "⺀" and line[:1] < "⺀":
            text += " "
        lines.append((len(text), number))
        text += line
    yield Piece(text, lines, depth=token.level)


def _table_rows(tokens: list[Token]) -> Iterator[Piece]:
    """A row is a statement: its requirement column, or all its cells, with the columns that say more about it."""
    header: list[str] = []
    cells: list[str] = []
    line = 0
    for token in tokens:
        if token.type == "tr_open":
            cells, line = [], token.map[0] if token.map else line
        elif token.type == "inline":
            cells.append(_plain(token).strip())
        elif token.type == "thead_close":
            header = [cell.lower() for cell in cells]
        elif token.type == "tr_close" and header:
            row = [(name, cell) for name, cell in zip(header, cells, strict=False) if cell]
            named: dict[FieldName, str] = {}
            for name, cell in row:
                if key := KEYS.get(name):
                    named[key] = f"{named[key]}, {cell}" if key in named else cell
            others = [cell for name, cell in row if name not in KEYS and name not in _STATEMENT_COLUMNS]
            has_column = not _STATEMENT_COLUMNS.isdisjoint(header)
            texts = [cell for name, cell in row if name in _STATEMENT_COLUMNS] if has_column else others
            if texts:
                yield Piece(", ".join(texts), [(0, line)], named, tuple(others) if has_column else ())


def _plain(token: Token) -> str:
    """Inline text without its marks, and without what is struck out."""
    parts, struck = [], 0
    for child in token.children or ():
        struck += {"s_open": 1, "s_close": -1}.get(child.type, 0)
        if child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif child.type in ("text", "code_inline") and not struck:
            parts.append(child.content)
    return "".join(parts)
